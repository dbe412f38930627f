"""The protocols, each with the sources of its numbers. What no source says is "not stated", or missing."""

from __future__ import annotations

import dataclasses

from benchrunner import UnknownName
from benchrunner_protocols.protocol import Part, Protocol

GLUE = tuple(f"glue/{name}" for name in ("cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte"))
NOT_STATED = "not stated: one seed here"
BEST_CHECKPOINT = (
    "early stopping: the best checkpoint on dev of each fit is kept there, the last one here; --set stop-at=STEPS,all "
    "adds checkpoints, of which all seeds of a grid point take the same"
)

BERT = Protocol(
    name="bert-paper",
    about="GLUE with four learning rates, SQuAD and SWAG with one, CoNLL-2003 with three and five restarts",
    source="Devlin et al. 2019, Sections 4.1 to 4.4, 5.3 and Appendix A.3",
    recipe="bert-paper",
    parts=(
        Part(GLUE, grid="bert-paper"),
        Part(("squad/1.1", "squad/2.0", "swag/swag")),
        Part(("conll/ner",), values={"lr": (5e-5, 3e-5, 2e-5), "max_length": (512,)}, seeds=5),
    ),
    grid="GLUE: Section 4.1; CoNLL-2003: the rates of Appendix A.3",
    seeds="GLUE, SQuAD and SWAG: not stated for BERT-BASE, one seed here; CoNLL-2003: 5, Section 5.3 and Table 7",
    selection="the best learning rate on dev",
    missing=(
        "for BERT-LARGE on small data, the paper takes the best of several restarts: --restarts 5 --select best",
        "SQuAD 1.1 with TriviaQA first, and the ensemble",
        "Adam without bias correction, as in the released code: --set bias-correction=no",
    ),
    published=("BERT-BASE", "BERT-LARGE"),
)

ROBERTA = Protocol(
    name="roberta",
    about="GLUE, each task alone: three learning rates, two batch sizes, five seeds",
    source="Liu et al. 2019, Section 5.1, setting 'single-task, dev'",
    recipe="roberta-paper",
    parts=(Part(GLUE, grid="roberta-paper", seeds=5),),
    grid="Section 5.1",
    seeds="5, Section 5.1",
    selection="the best grid point on dev; the paper reports the median over the seeds, and ours is the mean",
    missing=(BEST_CHECKPOINT, "WNLI, which the paper ranks with a margin; SQuAD and RACE"),
    published=("RoBERTa-base", "RoBERTa-large"),
)

ELECTRA = Protocol(
    name="electra",
    about="ELECTRA small and base on GLUE and SQuAD: the recipe that the authors chose, ten seeds",
    source="Clark et al. 2020, Section 3.1, and the README of the released code",
    recipe="electra-paper",
    parts=(Part((*GLUE, "squad/1.1", "squad/2.0"), seeds=10),),
    grid="none: the released code has the values that the authors chose",
    seeds="10, Section 3.1",
    selection="nothing is selected; the paper reports the median over the seeds, and ours is the mean",
    published=("ELECTRA-base", "ELECTRA-small"),
)

ELECTRA_LARGE = dataclasses.replace(
    ELECTRA,
    name="electra-large",
    about="ELECTRA large on GLUE and SQuAD: the recipe that the authors chose, ten seeds",
    recipe="electra-large-paper",
    published=("ELECTRA-large",),
)

DEBERTA_V3 = Protocol(
    name="deberta-v3",
    about="DeBERTaV3 large on GLUE: the settings of the released scripts",
    source="https://github.com/microsoft/DeBERTa, experiments/glue, and its README",
    recipe="deberta-v3-paper",
    parts=(Part(GLUE),),
    grid="none: the released scripts have the values that the authors chose",
    seeds="not stated: the README says 'multiple runs with different random seeds'; one seed here",
    selection="nothing is selected",
    missing=("WNLI, which has no script", "the grid of the paper's appendix, which no source at hand shows"),
    published=("DeBERTaV3-large", "DeBERTaV3-base"),
)

SHORT, LONG = ("glue/sst2", "glue/mnli"), ("glue/qnli", "glue/qqp", "glue/cola")
LONG_FROM_MNLI = ("glue/mrpc", "glue/stsb")
DECAYS = (1e-6, 5e-6, 8e-6, 1e-5)
RATES = (1e-5, 3e-5, 5e-5, 8e-5)
FEW = {"lr": RATES, "weight_decay": DECAYS, "epochs": (1, 2, 3)}
MANY = {"lr": RATES, "weight_decay": DECAYS, "epochs": (2, 5, 10)}
"""The grids of Warner et al. 2024, Appendix E.1."""

MODERNBERT = Protocol(
    name="modernbert",
    about="GLUE with four learning rates, four weight decays and three numbers of epochs",
    source="Warner et al. 2024, Appendix E.1",
    recipe="modernbert-paper",
    parts=(
        Part(SHORT, values=FEW),
        Part(LONG, values=MANY),
        Part(("glue/rte",), values=FEW, starts_from="glue/mnli"),
        Part(LONG_FROM_MNLI, values=MANY, starts_from="glue/mnli"),
    ),
    grid="Appendix E.1",
    seeds=NOT_STATED,
    selection="the best grid point on dev; RTE, MRPC and STS-B begin from the fit to MNLI",
    missing=(BEST_CHECKPOINT,),
    published=("ModernBERT-base", "ModernBERT-large"),
)

ETTIN = dataclasses.replace(
    MODERNBERT,
    name="ettin",
    about="GLUE with the grid of ModernBERT, which the authors of Ettin took over",
    source="Weller et al. 2025, which evaluates as Warner et al. 2024, Appendix E.1; no script for GLUE is released",
    grid="Warner et al. 2024, Appendix E.1; whether Ettin kept every value could not be checked",
    missing=(*MODERNBERT.missing, "published figures but those of SST-2: the paper's Table 3 has MNLI without its set"),
    published=tuple(f"Ettin-Enc-{size}" for size in ("17m", "32m", "68m", "150m", "400m", "1B")),
)

NEOBERT = Protocol(
    name="neobert",
    about="GLUE with five batch sizes, six learning rates and two weight decays: 60 fits a task",
    source="Le Breton et al. 2025, Appendix C",
    recipe="neobert-paper",
    parts=(
        Part(("glue/cola", "glue/sst2", "glue/qqp", "glue/mnli"), grid="neobert-paper"),
        Part(("glue/mrpc", "glue/stsb", "glue/qnli", "glue/rte"), grid="neobert-paper", starts_from="glue/mnli"),
    ),
    grid="Table 6 and the released jobs/glue/launcher.sh; the text of Appendix C names fewer values",
    seeds="1, the released jobs/glue/launcher.sh (seed 0)",
    selection="the best grid point on dev; RTE, STS-B, MRPC and QNLI begin from the best fit to MNLI",
    missing=(
        BEST_CHECKPOINT,
        "the start of MNLI from SNLI, which the released code has",
        "the mean of two metrics that the paper reports for MNLI, QQP, MRPC and STS-B",
    ),
    published=("NeoBERT",),
)

EUROBERT = Protocol(
    name="eurobert",
    about="token classification with ten learning rates",
    source="Boizard et al. 2025, Section 3.1 and Appendix D",
    recipe="eurobert-paper",
    parts=(Part(("conll/ner",), grid="eurobert-paper"),),
    grid="Section 3.1",
    seeds=NOT_STATED,
    selection="the learning rate with the best validation score",
    missing=(
        BEST_CHECKPOINT,
        "the German, Spanish and Dutch test sets of NER, which a model fitted to English answers there",
        "XNLI, PAWS-X, AmazonReviews, MassiveIntent, code and mathematics, regression and retrieval",
        "published figures: Table 1 has means over European languages, for which no task stands here",
    ),
)

ENCODEVAL = Protocol(
    name="encodeval",
    about="sequence and token classification with six learning rates and five seeds",
    source="Gisserot-Boukhlef et al. 2025, Section 2",
    recipe="encodeval",
    parts=(Part(("glue/sst2", "glue/mnli", "glue/qqp", "conll/ner"), grid="encodeval", seeds=5),),
    grid="Section 2, and the released configs/SC and configs/TC at 7e03774",
    seeds="5, Section 2 (seeds 0 to 4 in the released configurations)",
    selection="the best learning rate on the validation set",
    missing=(
        "a validation set of 5 % of the training rows that selects for GLUE, of which dev is the test set there",
        "OntoNotes, UNER, question answering and retrieval",
        "published figures of the tasks, which the paper draws",
    ),
)

BABYLM = Protocol(
    name="babylm-strict",
    about="BabyLM 2026, Strict: the seven fine-tuning tasks with the challenge's own values",
    source="https://github.com/babylm-org/babylm-eval at 45fe2c1, strict/scripts/eval_finetuning.sh",
    recipe="babylm-strict",
    parts=(
        Part(tuple(f"babylm/{name}-filtered" for name in ("boolq", "mnli", "mrpc", "multirc", "qqp", "rte", "wsc"))),
    ),
    grid="none: the script has one value of each",
    seeds="1, the script (seed 42)",
    selection="nothing is selected but the epoch, which is not repeated here",
    missing=("the best epoch on the validation file, which the script reports", "the zero-shot tasks"),
    published=("BabyLlama-100m", "LTG-BERT-100m"),
    first_seed=42,
)

MOSBACH = Protocol(
    name="mosbach",
    about="CoLA, MRPC and RTE for 20 epochs with 25 seeds",
    source="Mosbach et al. 2021, and the released code at 3cf27e8",
    recipe="mosbach",
    parts=(Part(("glue/rte", "glue/mrpc", "glue/cola"), seeds=25, values={"lr": (2e-5,)}),),
    grid="none: 2e-5 is the rate of the configuration that the README names",
    seeds="25, examples/bert_stable_fine_tuning/scripts/run_scripts.txt (seeds 1 to 25)",
    selection="nothing is selected; the spread over the seeds is the result",
    missing=(BEST_CHECKPOINT, "the published figure of MRPC, which is the mean of accuracy and F1"),
    published=("BERT-LARGE (Mosbach)",),
    first_seed=1,
)

PROTOCOLS = {
    protocol.name: protocol
    for protocol in (
        *(BERT, ROBERTA, ELECTRA, ELECTRA_LARGE, DEBERTA_V3, MODERNBERT, NEOBERT, EUROBERT, ENCODEVAL, ETTIN),
        *(BABYLM, MOSBACH),
    )
}


def find_protocol(name: str) -> Protocol:
    """Return the protocol of a name; raise an `UnknownName` with close names if there is none."""
    if name not in PROTOCOLS:
        raise UnknownName("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]
