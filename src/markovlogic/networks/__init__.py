"""Networks: frozen flat arrays that inference runs on."""
