package config

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/det-deploy/det-deploy/master/experiment/search"
)

// FuzzConfigurations checks that no input panics, that every accepted configuration makes a search,
// and that storing and loading it is lossless.
func FuzzConfigurations(f *testing.F) {
	for _, seed := range []string{
		minimal,
		"entrypoint: [a, b]\nsearcher: {name: grid, metric: m}\nhyperparameters: {a: {type: int, minval: 0, maxval: 9, count: 3}, b: null, c: [1, {x: 2}], d: {e: {type: categorical, vals: [null, 1.5, x]}}}\n",
		"entrypoint: x\nsearcher: {name: adaptive_asha, metric: m, max_trials: 99, max_length: {batches: 1000}, divisor: 1.0001}\n",
		"entrypoint: x\nsearcher: {name: async_halving, metric: m, max_trials: 9, time_metric: t, max_time: 3, num_rungs: 64}\nhyperparameters: {lr: {type: log, base: 10, minval: -5, maxval: 1e-3}}\n",
		"a: &a [*a]\n", "a: &a {b: 1}\nc: {<<: *a}\n", "entrypoint: x\nsearcher: {name: single, metric: m}\ncheckpoint_storage: {type: azure, container: c, account_url: u}\n",
		"environment: {image: {gpu: a, cuda: b}, environment_variables: {A: 1}}\n", "hyperparameters: {a: {type: int, minval: -9223372036854775808, maxval: 9223372036854775807, count: 2}}\n" + minimal,
	} {
		f.Add(seed, minimal, "searcher.max_trials=3")
		f.Add("entrypoint: x\n", seed, "hyperparameters.x={type: int, minval: 0, maxval: 9, count: 2}")
	}
	f.Fuzz(func(t *testing.T, text, template, option string) {
		d, err := Parse([]byte(text), "fuzz.yaml", []string{option})
		if err != nil {
			return
		}
		l := cluster()
		l.Request = d
		if l.Template, err = Parse([]byte(template), "template.yaml", nil); err != nil {
			return
		}
		x, _, err := Complete(l)
		if err != nil {
			return
		}
		if _, err := json.Marshal(x.Show()); err != nil {
			t.Fatal(err)
		}
		checkStored(t, x)
		checkSearch(t, x)
	})
}

func checkStored(t *testing.T, x Experiment) {
	t.Helper()
	first, err := x.Store()
	if err != nil {
		t.Fatal(err)
	}
	back, err := Load(first)
	if err != nil {
		t.Fatalf("%v of\n%s", err, first)
	}
	second, err := back.Store()
	if err != nil || !bytes.Equal(first, second) {
		t.Fatalf("stored as\n%s\nloaded as\n%s, %v", first, second, err)
	}
}

func checkSearch(t *testing.T, x Experiment) {
	t.Helper()
	c := x.Search()
	if _, err := c.Preview(2); err != nil {
		t.Fatal(err)
	}
	s, err := search.New(c)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Handle(search.Input{News: search.Started})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := json.Marshal(e); err != nil {
		t.Fatalf("a decision cannot be stored: %v", err)
	}
}
