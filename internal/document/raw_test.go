package document_test

import (
	"encoding/json"
	"testing"

	"github.com/det-deploy/det-deploy/internal/document"
)

func TestRawNumbersOfEverySize(t *testing.T) {
	t.Parallel()
	for _, number := range []string{"0", "-3", "9223372036854775807", "9227000000000000000", "18446744073709551616", "-9227000000000000000", "1e+300", "0.5", "1e-7"} {
		var x struct {
			Raw document.Raw `yaml:"raw"`
		}
		if err := document.Decode([]byte("raw: {n: "+number+"}"), "raw.yaml", &x); err != nil {
			t.Fatal(err)
		}
		shown, err := json.Marshal(document.Show(x)["raw"])
		if err != nil {
			t.Errorf("%s cannot be shown: %v", number, err)
		}
		text, err := document.Marshal(x)
		if err != nil {
			t.Errorf("%s cannot be written: %v", number, err)
		}
		var back struct {
			Raw document.Raw `yaml:"raw"`
		}
		if err := document.Decode(text, "written", &back); err != nil || !back.Raw.Equal(x.Raw) {
			t.Errorf("%s became %s, shown as %s, read again as %s, %v", number, text, shown, back.Raw.JSON(), err)
		}
	}
}

func TestSetYAML(t *testing.T) {
	t.Parallel()
	d, err := document.Parse([]byte("a: {b: 1, c: x}\n"), "a.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"a.b", "a.d.e"} {
		if p := d.SetYAML(path, "[1, {x: 2.5}]", "--config"); p != nil {
			t.Fatal(p)
		}
	}
	var x struct {
		A document.Raw `yaml:"a"`
	}
	if err := d.Decode(&x).Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := string(x.A.JSON()), `{"b":[1,{"x":2.5}],"c":"x","d":{"e":[1,{"x":2.5}]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if p := d.SetYAML("a.d", "{e: 3, f: {g: 4}}", "--config"); p != nil {
		t.Fatal(p)
	}
	if err := d.Decode(&x).Err(); err != nil {
		t.Fatal(err)
	}
	if got, want := string(x.A.JSON()), `{"b":[1,{"x":2.5}],"c":"x","d":{"e":3,"f":{"g":4}}}`; got != want {
		t.Errorf("merged into %s, want %s", got, want)
	}
	if p := d.SetYAML("a.c.d", "1", "--config"); p == nil || p.File != "--config" {
		t.Errorf("a key below a text: %v", p)
	}
}
