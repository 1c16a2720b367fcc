"""Files of networks: round trips to the bit, the formats' corners, and hostile input."""

from contextlib import suppress

import numpy as np
import pytest

from mercer.bayesnet import (
    BayesianNetwork,
    format_bif,
    format_net,
    format_xmlbif,
    read_bif,
    read_net,
    read_network,
    read_xmlbif,
    write_network,
)
from mercer.errors import DataError

PAIRS = [(format_bif, read_bif), (format_net, read_net), (format_xmlbif, read_xmlbif)]
FORMS = {"bif": read_bif, "net": read_net, "xml": read_xmlbif}


def make_network(seed, odd=False):
    random = np.random.default_rng(seed)
    names = ["rain today", 'say "hi"', "a<b&c", "d|e", "back\\slash", "ü"] if odd else [f"v{i}" for i in range(6)]
    states, parents, tables = {}, {}, {}
    for i, name in enumerate(names):
        states[name] = [f"{'s t' if odd else 's'}{k}" for k in range(random.integers(1, 4))]
        parents[name] = [names[j] for j in sorted(random.choice(i, min(i, random.integers(0, 3)), replace=False))]
        shape = [len(states[parent]) for parent in parents[name]]
        tables[name] = random.dirichlet(np.ones(len(states[name])), shape)
    return BayesianNetwork(states, parents, tables)


@pytest.mark.parametrize(("write", "read"), PAIRS)
@pytest.mark.parametrize("odd", [False, True])
def test_round_trips_are_exact(write, read, odd):
    for seed in range(5):
        network = make_network(seed, odd)
        assert read(write(network)) == network


@pytest.mark.parametrize("ending", ["bif", "xmlbif", "xml", "net"])
def test_files_are_read_and_written_by_their_ending(tmp_path, ending):
    network = make_network(1)
    write_network(network, tmp_path / f"n.{ending}")
    assert read_network(tmp_path / f"n.{ending}") == network
    write_network(network, tmp_path / "other", format="bif")
    assert read_network(tmp_path / "other", format="bif") == network


def test_unknown_endings_and_absent_files_are_refused(tmp_path):
    with pytest.raises(DataError, match=r"the format must be one of .* got the ending '.txt'. Pass format='bif'"):
        read_network(tmp_path / "n.txt")
    with pytest.raises(DataError, match="cannot be read: No such file"):
        read_network(tmp_path / "n.bif")


BIF = """
// a comment
network "my net" { property author me; }
variable a { type discrete [ 2 ] { yes, no }; property position = (1, 2); }
variable b { /* another
comment */ type discrete [3] { <5, 5-10, >10 }; }
probability ( a ) { table 0.25, 0.75; }
probability ( b | a ) { default 0.5, 0.25, 0.25; (no) 0.1 0.2 0.7; }
"""


def test_bif_knows_comments_properties_defaults_and_odd_states():
    network = read_bif(BIF)
    assert network.variables["b"] == ("<5", "5-10", ">10")
    assert network.tables["b"].tolist() == [[0.5, 0.25, 0.25], [0.1, 0.2, 0.7]]


def test_bif_tables_with_parents_are_read_in_either_order():
    head = (
        "variable a { type discrete [2] {x,y}; } variable b { type discrete [2] {u,v}; } probability (a) { table 1 0; }"
    )
    first = read_bif(head + "probability (b | a) { table 0.1, 0.3, 0.9, 0.7; }")
    assert first.tables["b"].tolist() == [[0.1, 0.9], [0.3, 0.7]]
    last = read_bif(head + "probability (b | a) { table 0.1, 0.9, 0.3, 0.7; }")
    assert last.tables["b"].tolist() == [[0.1, 0.9], [0.3, 0.7]]


def test_net_knows_labels_groups_and_absent_data():
    text = """net { node_size = (80 40); } % comment
    node a { states = ("x" "y"); label = "A; B"; position = (1 2); }
    discrete node b { states = ("u" "v"); }
    potential (a) { }
    potential (b | a) { data = ((0.1 0.9)(0.3 0.7)); }"""
    network = read_net(text)
    assert network.tables["a"].tolist() == [0.5, 0.5]
    assert network.tables["b"].tolist() == [[0.1, 0.9], [0.3, 0.7]]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("0.25, 0.75", "0.25, 0.65"), r"BIF file, line 7: the probabilities of 'a' must sum to 1; got 0.9"),
        (
            ("(no) 0.1 0.2 0.7", "(no) 0.1 0.2 0.6"),
            r"line 8: the probabilities of 'b' given a=no must sum to 1; got 0.9",
        ),
        (("(no)", "(maybe)"), r"line 8: 'a' has no state 'maybe'; its states are yes, no"),
        (("0.25, 0.75", "0.25"), r"line 7: 2 probabilities of 'a' must stand here; got 1"),
        (("0.25, 0.75", "-0.25, 1.25"), r"line 7: the table of 'a' must hold probabilities from 0 to 1; got -0.25"),
        (("0.25, 0.75", "0.25, x"), r"line 7: a number must stand here; got 'x'"),
        (("[ 2 ]", "[ 3 ]"), r"line 4: variable 'a' declares 3 states and lists 2"),
        (("default 0.5, 0.25, 0.25;", ""), r"line 8: the table of 'b' lacks an entry for \(yes\)"),
        (("( b | a )", "( b | z )"), r"line 8: 'z' must be declared before its table"),
        (("probability ( a ) { table 0.25, 0.75; }", ""), r"line 4: variable 'a' has no table"),
        (("discrete [3]", "continuous [3]"), r"line 6: variable 'b' must be discrete; got 'continuous'"),
        (("comment */", "comment"), r"line 5: a comment that begins with /\* must end"),
        (("( b | a )", "( b | b )"), r"the parents of 'b' must be other variables"),
        (("variable b", "variable a"), r"a variable may be declared once; 'a' was declared in line 4"),
        (("0.2 0.7; }", ""), r"the file ends"),
    ],
)
def test_errors_name_the_line_and_the_cure(change, words):
    with pytest.raises(DataError, match=words):
        read_bif(BIF.replace(*change))


def test_cycles_are_named():
    text = "".join(f"variable {name} {{ type discrete [1] {{s}}; }}\n" for name in "ab")
    text += "probability (a | b) { (s) 1; }\nprobability (b | a) { (s) 1; }"
    with pytest.raises(DataError, match="parents must not form a cycle; got a -> b -> a"):
        read_bif(text)


def test_huge_tables_are_refused_before_memory_is_taken():
    names = [f"v{i}" for i in range(30)]
    text = "".join(f"variable {name} {{ type discrete [2] {{s, t}}; }}\n" for name in names)
    text += f"probability (v0 | {', '.join(names[1:])}) {{ default 0.5, 0.5; }}"
    with pytest.raises(
        DataError, match="a table may have at most 16777216 entries; that of 'v0' would have 1073741824"
    ):
        read_bif(text)


def test_xml_entities_are_never_expanded():
    bomb = '<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY c "&a;&a;">]><BIF><NETWORK>&c;</NETWORK></BIF>'
    with pytest.raises(DataError, match="XMLBIF file, line 1: entities must not be declared"):
        read_xmlbif(bomb)
    outside = '<!DOCTYPE b SYSTEM "file:///etc/passwd"><BIF><NETWORK>&x;</NETWORK></BIF>'
    with pytest.raises(DataError, match="XMLBIF file, line 1"):
        read_xmlbif(outside)
    with pytest.raises(DataError, match="nested 32 deep"):
        read_xmlbif("<a>" * 5000)
    with pytest.raises(DataError, match=r"line 2: the XML must be well-formed; mismatched tag"):
        read_xmlbif("<BIF>\n<NETWORK></BIF>")


@pytest.mark.parametrize("ending", FORMS)
def test_damaged_files_raise_errors_of_the_library_only(ending):
    network = make_network(3)
    text = {"bif": format_bif, "net": format_net, "xml": format_xmlbif}[ending](network)
    random = np.random.default_rng(0)
    for _ in range(300):
        damaged = list(text)
        for _ in range(random.integers(1, 4)):
            place = int(random.integers(len(damaged)))
            damaged[place : place + int(random.integers(0, 6))] = random.choice(
                list('{}()[];,|="\\ 0x.\n<>&'), random.integers(0, 3)
            )
        with suppress(DataError):
            FORMS[ending]("".join(damaged))


def test_an_empty_file_is_refused():
    for read in FORMS.values():
        with pytest.raises(DataError, match="file, line 1"):
            read("")


def test_commas_between_probabilities_are_all_there_or_none():
    form = "network unnamed {{}} variable x {{ type discrete [3] {{ a, b, c }}; }} probability (x) {{ table {}; }}"
    for numbers in ("0.2, 0.3, 0.5", "0.2 0.3 0.5"):
        assert read_bif(form.format(numbers)).tables["x"].tolist() == [0.2, 0.3, 0.5]
    with pytest.raises(DataError, match="line 1: a number must stand here; got ','"):
        read_bif(form.format("0.2,, 0.3, 0.5"))


def test_lines_of_errors_count_comments_and_quoted_names():
    text = 'network n {}\n/* two\nlines */ // one\nvariable "a\\"b" { type discrete [2] { yes, no }; }\n'
    assert list(read_bif(text + 'probability ("a\\"b") { table 0.5, 0.5; }').tables) == ['a"b']
    with pytest.raises(DataError, match="line 6: a number must stand here; got 'half'"):
        read_bif(text + 'probability ("a\\"b") {\n table half, 0.5; }')
    with pytest.raises(DataError, match='line 5: a text that begins with " must end with "'):
        read_bif(text + 'probability ("a')
    with pytest.raises(DataError, match=r"line 1: a comment that begins with /\* must end"):
        read_bif("network n {} /* open")


def test_the_name_that_is_written_is_no_word_of_the_format():
    # Other programs refuse a network that is called "network".
    assert format_bif(make_network(0)).startswith("network unnamed {")


def test_states_with_an_equals_sign_are_read_as_bnlearn_writes_them():
    text = """network unknown {
}
variable A {
  type discrete [ 2 ] { <7.5, >=7.5 };
}
variable B {
  type discrete [ 2 ] { yes, no };
}
probability ( A ) {
  table 0.2, 0.8;
}
probability ( B | A ) {
  (<7.5) 0.5, 0.5;
  (>=7.5) 0.1, 0.9;
}
"""
    network = read_bif(text)
    assert network.variables["A"] == ("<7.5", ">=7.5")
    assert network.tables["B"].tolist() == [[0.5, 0.5], [0.1, 0.9]]
    assert read_bif(format_bif(network)).variables == network.variables
    assert read_net(format_net(network)).variables == network.variables
