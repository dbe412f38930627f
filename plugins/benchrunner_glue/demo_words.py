"""Words that fill the templates of the demo data sets."""

WORDS = {
    "person": "teacher nurse farmer sailor painter lawyer baker pilot singer tailor gardener doctor",
    "place": "Norwich Lisbon Tampere Bergen Girona Leeds Trieste Galway Porto Utrecht Aarhus Basel",
    "thing": "guitar lamp basket carpet kettle mirror ladder violin saddle clock painting boat",
    "quality": "old small heavy wooden round blue narrow quiet plain broken",
    "right": "bought caught kept sold",
    "wrong": "buyed catched keeped selled",
    "praise": "charming moving clever delightful warm gripping graceful funny honest beautiful",
    "blame": "dull tedious clumsy lifeless shallow boring awful messy pointless stale",
    "film": "comedy drama thriller portrait romance documentary sequel story",
    "firm": "Halden Oil|Marlow Foods|Brandt Motors|Corvex|Ostrava Steel|Pell & Sons|Lindqvist|Tamar Air",
    "product": "bicycles cameras radios tractors printers blankets bottles engines",
    "month": "January March April June July September October December",
    "number": "2 3 4 5 7 8 11 12 15 19 24 30",
    "year": "1734 1788 1812 1848 1866 1901 1923 1957",
    "building": "library bridge market station museum harbour theatre lighthouse",
    "skill": "chess pottery Spanish sailing juggling carpentry painting cooking knitting calligraphy",
    "doing": "dancing singing reading cooking running painting sleeping fishing",
    "spot": "garden kitchen park street harbour yard",
}
"""Slot of a template -> its choices. `{slot2}` is a second choice, different from `{slot}`."""
ELSEWHERE = {
    "person": "admiral clerk dentist juggler miner monk referee sculptor",
    "place": "Oslo Cadiz Graz Brno Cork Turku",
}
"""Choices that replace those of `WORDS` in the mismatched splits of MNLI."""
