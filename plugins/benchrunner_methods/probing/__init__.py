"""The method `probe`: linear models of scikit-learn on the vectors of a frozen encoder."""
