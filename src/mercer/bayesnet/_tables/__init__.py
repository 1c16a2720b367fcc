"""Tables of discrete variables: factors, probability tables, events and conditional independence."""
