//! The routes file as it is written (YAML). Unknown keys are refused; what is not said has the default given here.
