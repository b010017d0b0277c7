package document_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/internal/document"
)

type animal struct {
	Cat *cat
	Dog *dog
}

func (a *animal) Variants() []document.Variant {
	return []document.Variant{{Type: "cat", Field: &a.Cat, Default: true}, {Type: "dog", Field: &a.Dog}}
}

type Limbs struct {
	Legs int `yaml:"legs"`
}

type cat struct {
	Limbs `yaml:",inline"`
	Lives int `yaml:"lives"`
}

func (c *cat) SetDefaults() { *c = cat{Lives: 9} }

type dog struct {
	Legs  int  `yaml:"legs"`
	Barks bool `yaml:"barks"`
}

type zoo struct {
	Name     string            `yaml:"name"`
	Open     bool              `yaml:"open"`
	Visitors int               `yaml:"visitors"`
	Price    float64           `yaml:"price"`
	Wait     document.Duration `yaml:"wait"`
	Idle     document.Seconds  `yaml:"idle"`
	Key      document.Secret   `yaml:"key"`
	Star     *animal           `yaml:"star"`
	Animals  []animal          `yaml:"animals"`
	Tags     []string          `yaml:"tags"`
	Labels   map[string]string `yaml:"labels"`
	Spec     document.Raw      `yaml:"spec"`
	Address  struct {
		Street string `yaml:"street"`
		Number int    `yaml:"house_number"`
	} `yaml:"address"`
	hidden int
}

func TestDecodeReadsEveryKind(t *testing.T) {
	t.Parallel()
	in := `
name: "7"
open: yes
visitors: 1_000
price: 2.5
wait: 1h30m
idle: 300
key: hunter2
star: {type: dog, barks: true}
animals:
  - lives: 3
    legs: 4
  - type: cat
tags: [a, b]
labels: {x: y}
spec: {n: 1, big: 12345678901234567890, f: 1.5, list: [null, true, s]}
address: {street: Main, house_number: 0x10}
`
	var z zoo
	if err := document.Decode([]byte(in), "zoo.yaml", &z); err != nil {
		t.Fatal(err)
	}
	got := []any{
		z.Name, z.Open, z.Visitors, z.Price, z.Wait.String(), z.Idle.String(), z.Key.Reveal(), z.Star.Dog.Barks, z.Star.Cat == nil,
		z.Animals[0].Cat.Lives, z.Animals[0].Cat.Legs, z.Animals[1].Cat.Lives, z.Tags, z.Labels, z.Address.Street, z.Address.Number,
	}
	want := []any{"7", true, 1000, 2.5, "1h30m", "5m", "hunter2", true, true, 3, 4, 9, []string{"a", "b"}, map[string]string{"x": "y"}, "Main", 16}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
	if got, want := string(z.Spec.JSON()), `"list":[null,true,"s"]`; !strings.Contains(got, want) {
		t.Errorf("got spec %s, want %s in it", got, want)
	}
	_ = z.hidden
}

func TestDecodeErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, yaml, want string }{
		{"an unknown key", "nam: x", "zoo.yaml:1: nam: unknown key (did you mean name?)"},
		{"an unknown key in a nested struct", "address:\n  stret: x", "zoo.yaml:2: address.stret: unknown key (did you mean street?)"},
		{"a key in another spelling", "address: {houseNumber: 3}", "did you mean house_number?"},
		{"an unknown key far from all", "address: {colour: red}", "valid keys: street, house_number"},
		{"a key twice", "name: a\nopen: true\nname: b", "zoo.yaml:3: name: is given twice, first in line 1"},
		{"a number for a text", "name: 12", `name: must be text, is the number 12 (put it in quotes: "12")`},
		{"a text for a number", "visitors: many", "visitors: must be a whole number, is text"},
		{"a fraction for a whole number", "visitors: 1.5", "must be a whole number"},
		{"a number too large", "visitors: 99999999999999999999", "must be a whole number"},
		{"not a number", "price: .nan", "must be a number"},
		{"a text for a truth value", "open: perhaps", "must be true or false"},
		{"a quoted truth value", `open: "true"`, "must be true or false"},
		{"a list for a text", "name: [a]", "must be text, is a list"},
		{"a mapping for a list", "tags: {a: b}", "must be a list, is a mapping"},
		{"a text for a mapping", "address: here", "address: must be a mapping of keys to values, is text"},
		{"an empty entry", "tags: [a, ~]", "tags[1]: is empty"},
		{"a bare number for a duration", "wait: 20", "must be a duration with a unit, is the number 20 (write 20s for seconds)"},
		{"a word for a duration", "wait: soon", `is not a duration: "soon"`},
		{"too many seconds", "idle: 9999999999999", "is too long"},
		{"an unknown type", "star: {type: cow}", `star.type: must be one of cat, dog (is "cow")`},
		{"a mistyped type", "star: {type: dogg}", "did you mean dog?"},
		{"a type that is a list", "star: {type: []}", "star.type: must be one of cat, dog; is a list"},
		{"a key of another type", "star: {type: dog, lives: 3}", "star.lives: unknown key"},
		{"the type twice", "star: {type: dog, type: cat}", "star.type: unknown key"},
		{"a union that is a text", "star: dog", "must be a mapping with the key type, is text"},
		{"a list of documents", "- a", "must be a mapping of keys to values, is a list"},
		{"two documents", "name: a\n---\nname: b", "has a second document"},
		{"no YAML", "name: [", "is not valid YAML"},
		{"a tab", "cat:\n\tlives: 9", "zoo.yaml:2: is not valid YAML: the line is indented by a tab (use blanks)"},
		{"a tab after blanks", "cat:\n  a: 1\n \tlives: 9", "found a tab character that violates indentation"},
		{"a key that is a list", "[a]: b", "has a key that is a list"},
		{"an unknown tag", "spec: {a: !!binary aGk=}", "which is not supported"},
		{"merging a text", "a: &a x\nlabels: {<<: *a}", "can only merge mappings"},
		{"an alias of itself", "labels: &a {x: *a}", "levels deep"},
		{"deep nesting", "spec: " + strings.Repeat("[", 100) + strings.Repeat("]", 100), "is nested more than 64 levels deep"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := document.Decode([]byte(tc.yaml), "zoo.yaml", &zoo{})
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an error with %q", err, tc.want)
			}
		})
	}
}

func TestDecodeReportsEverythingInTheOrderOfLines(t *testing.T) {
	t.Parallel()
	err := document.Decode([]byte("visitors: many\nnam: x\nopen: 3\ntags:\n- 1\n- b\n- {}\n"), "zoo.yaml", &zoo{})
	problems, ok := errors.AsType[document.Errors](err)
	if !ok {
		t.Fatalf("got %T, want document.Errors", err)
	}
	var lines []int
	for _, p := range problems {
		lines = append(lines, p.Line)
	}
	if diff := cmp.Diff(lines, []int{1, 2, 3, 5, 7}); diff != "" {
		t.Errorf("lines (-got +want):\n%s", diff)
	}
}

func TestAliasesAndMergeKeysAreWrittenOut(t *testing.T) {
	t.Parallel()
	var z zoo
	err := document.Decode([]byte("labels: &l {a: 'one', b: 'two'}\nspec: {<<: *l, b: 3}\ntags: [&t x, *t]\n"), "zoo.yaml", &z)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(z.Spec.JSON()), `{"a":"one","b":3}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if diff := cmp.Diff(z.Tags, []string{"x", "x"}); diff != "" {
		t.Error(diff)
	}
}

func TestNestedAliasesAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := 1; i < 10; i++ {
		fmt.Fprintf(&b, "a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d,", i-1), 9), ","))
	}
	err := document.Decode([]byte(b.String()), "zoo.yaml", &zoo{})
	if err == nil || !strings.Contains(err.Error(), "after expanding aliases") {
		t.Errorf("got %v", err)
	}
	err = document.Decode(make([]byte, document.MaxBytes+1), "zoo.yaml", &zoo{})
	if err == nil || !strings.Contains(err.Error(), "is larger than") {
		t.Errorf("got %v", err)
	}
}

func TestOverridesWinAndAreNamed(t *testing.T) {
	t.Parallel()
	d, err := document.Parse([]byte("visitors: 3\naddress: ~\n"), "zoo.yaml")
	if err != nil {
		t.Fatal(err)
	}
	problems := d.Apply([]document.Given{
		{Path: "visitors", Value: "5", Source: "--visitors"},
		{Path: "name", Value: "5", Source: "DET_NAME"},
		{Path: "tags", Value: "a, b,", Source: "--tags"},
		{Path: "address.house_number", Value: "7", Source: "--number"},
		{Path: "open", Value: "nope", Source: "--open"},
	})
	var z zoo
	problems = append(problems, d.Decode(&z)...)
	if z.Visitors != 5 || z.Name != "5" || len(z.Tags) != 2 || z.Address.Number != 7 {
		t.Errorf("got %+v", z)
	}
	if got, want := problems.Error(), "--open: open: must be true or false"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
	late := d.Locate(document.Errors{{Path: "visitors", Text: "too many"}, {Path: "labels.x", Text: "missing"}})
	if got := late.Error(); got != "--visitors: visitors: too many\nzoo.yaml:1: labels.x: missing" {
		t.Errorf("got %q", got)
	}
}

func TestMarshalGivesBackWhatWasRead(t *testing.T) {
	t.Parallel()
	in := "name: '7'\nwait: 20m\nidle: 90\nstar:\n  type: dog\n  barks: true\nanimals:\n  - type: cat\n    lives: 3\nspec: {n: 1, s: '1', z: null}\n"
	var a, b zoo
	if err := document.Decode([]byte(in), "a", &a); err != nil {
		t.Fatal(err)
	}
	out, err := document.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Decode(out, "b", &b); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if diff := cmp.Diff(a, b, cmp.AllowUnexported(zoo{}, cat{})); diff != "" {
		t.Errorf("(-read +written and read):\n%s", diff)
	}
	a.Key = document.NewSecret("hunter2")
	if out, err := document.Marshal(a); err == nil || strings.Contains(string(out)+err.Error(), "hunter2") {
		t.Errorf("a secret: got %s, %v", out, err)
	}
	if out, err := document.MarshalWithSecrets(a); err != nil || !strings.Contains(string(out), "hunter2") {
		t.Errorf("with secrets: got %s, %v", out, err)
	}
}

func TestSecretNeverPrints(t *testing.T) {
	t.Parallel()
	z := zoo{Key: document.NewSecret("hunter2")}
	wrapped := struct{ inner document.Secret }{z.Key}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "z", z, "key", z.Key)
	asJSON, err := json.Marshal(z)
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %q %x %d", z, z, z, z.Key, z.Key, z.Key, z.Key) + fmt.Sprintf("%v %+v %#v", wrapped, &wrapped, wrapped) +
		log.String() + string(asJSON) + fmt.Sprint(document.Show(z)) + fmt.Sprint(document.Settings(z))
	if strings.Contains(all, "hunter2") || strings.Contains(all, "68756e74657232") {
		t.Errorf("a secret leaked: %s", all)
	}
	if !strings.Contains(all, document.Redacted) || !strings.Contains(all, document.Masked) {
		t.Errorf("got %s, want it redacted and masked", all)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: x\nanimals: [{type: dog}]\nspec: {a: [1, 2.5, null]}"))
	f.Add([]byte("a: &a [*a]\n<<: *a"))
	f.Add([]byte("? [x]\n: !!set {a}\n"))
	f.Add([]byte("{\"name\": \"x\", \"wait\": \"1s\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var z zoo
		err := document.Decode(data, "fuzz.yaml", &z)
		if err != nil {
			if _, ok := errors.AsType[document.Errors](err); !ok {
				t.Fatalf("got %T, want document.Errors", err)
			}
			return
		}
		out, err := document.MarshalWithSecrets(z)
		if err != nil {
			t.Fatal(err)
		}
		var again zoo
		if err := document.Decode(out, "again.yaml", &again); err != nil {
			t.Fatalf("read what was written: %v\n%s", err, out)
		}
	})
}

type shared struct {
	Name string `yaml:"name"`
	Size int    `yaml:"size"`
}

func TestKeyIsInsertedAfterNamedKey(t *testing.T) {
	t.Parallel()
	var got []string
	for _, e := range document.Reference(struct {
		Shared shared `yaml:",inline"`
		Kind   string `yaml:"kind" after:"name"`
		Color  string `yaml:"color"`
		Last   string `yaml:"last" after:"size"`
	}{}) {
		got = append(got, e.Path)
	}
	if want := "name kind color size last"; strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
