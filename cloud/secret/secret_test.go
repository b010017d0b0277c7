package secret_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/secret"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, in, ref, literal, err string
	}{
		{name: "a literal", in: "hunter2", literal: "hunter2"},
		{name: "a literal with a colon", in: "a:b", literal: "a:b"},
		{name: "nothing"},
		{name: "a file", in: "file:/run/key", ref: "file:/run/key"},
		{name: "a relative file", in: "file:key", err: "not absolute"},
		{name: "a variable", in: "env:DB_PASSWORD", ref: "env:DB_PASSWORD"},
		{name: "a bad variable", in: "env:a-b", err: "not a valid env: reference"},
		{name: "an AWS name", in: "aws-sm:lab/db", ref: "aws-sm:lab/db"},
		{name: "an AWS ARN with a key", in: "aws-sm:arn:aws:secretsmanager:us-west-2:123456789012:secret:db-AbCdEf#password", ref: "aws-sm:arn:aws:secretsmanager:us-west-2:123456789012:secret:db-AbCdEf#password"},
		{name: "a bad AWS name", in: "aws-sm:a b", err: "not a valid aws-sm: reference"},
		{name: "a Google secret", in: "gcp-sm:projects/lab/secrets/db/versions/latest", ref: "gcp-sm:projects/lab/secrets/db/versions/latest"},
		{name: "a short Google name", in: "gcp-sm:db", ref: "gcp-sm:db"},
		{name: "a bad Google name", in: "gcp-sm:projects/lab/db", err: "not a valid gcp-sm: reference"},
		{name: "a literal that looks like a reference", in: "literal:env:X", literal: "env:X"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, err := secret.Parse(tc.in)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Fatalf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ref, isRef := v.Ref()
			if isRef != (tc.ref != "") || isRef && ref.String() != tc.ref || v.Reveal() != tc.literal {
				t.Errorf("got reference %v, literal %q; want %q, %q", ref, v.Reveal(), tc.ref, tc.literal)
			}
			if again, err := secret.Parse(v.Disclose()); err != nil || !again.Equal(v) {
				t.Errorf("%q does not give the value again: %v", tc.in, err)
			}
		})
	}
}

type source struct{}

func (source) Secret(_ context.Context, ref secret.Ref) (string, error) {
	return "stored " + ref.Name, nil
}

func TestResolve(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"key": "hunter2\n", "dos": "hunter2\r\n", "two": "a\n\n", "empty": "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := secret.Resolver{
		Sources:   map[secret.Scheme]secret.Source{secret.AWS: source{}},
		LookupEnv: func(name string) (string, bool) { return "from env", name == "SET" },
	}
	for _, tc := range []struct{ name, in, want, err string }{
		{"a literal", "plain", "plain", ""},
		{"nothing", "", "", ""},
		{"a file loses its last line break", "file:" + dir + "/key", "hunter2", ""},
		{"a file of another system as well", "file:" + dir + "/dos", "hunter2", ""},
		{"a file keeps other line breaks", "file:" + dir + "/two", "a\n", ""},
		{"an empty file", "file:" + dir + "/empty", "", "it is empty"},
		{"no file", "file:" + dir + "/none", "", "the file does not exist"},
		{"a variable", "env:SET", "from env", ""},
		{"no variable", "env:UNSET", "", "the variable is not set"},
		{"a store that was given", "aws-sm:db", "stored db", ""},
		{"a store that was not given", "gcp-sm:db", "", "does not read this store"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			v, err := secret.Parse(tc.in)
			if err != nil {
				t.Fatal(err)
			}
			got, err := r.Resolve(t.Context(), v)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), tc.in) {
					t.Errorf("got %v, want an error with %q and %q", err, tc.err, tc.in)
				}
				return
			}
			if err != nil || got.Reveal() != tc.want {
				t.Errorf("got %q, %v; want %q", got.Reveal(), err, tc.want)
			}
		})
	}
}

func TestValueNeverPrints(t *testing.T) {
	t.Parallel()
	v := secret.Literal("hunter2")
	wrapped := struct{ inner secret.Value }{v}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v, "w", wrapped)
	asJSON, err := json.Marshal(map[string]any{"v": v})
	if err != nil {
		t.Fatal(err)
	}
	all := fmt.Sprintf("%v %+v %#v %s %q %x", v, v, v, v, v, v) + fmt.Sprintf("%v %+v %#v", wrapped, wrapped, &wrapped) + log.String() + string(asJSON) + v.Conceal()
	if strings.Contains(all, "hunter2") || strings.Contains(all, "68756e74657232") {
		t.Errorf("a secret leaked: %s", all)
	}
}
