package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecodeStorage(t *testing.T) {
	s, err := DecodeStorage([]byte(`{"type": "s3", "bucket": "b", "access_key": "a", "secret_key": "s", "save_trial_best": 0, "prefix": null}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"type": "s3", "bucket": "b", "save_trial_best": 0}, s.Show()); diff != "" {
		t.Error(diff)
	}
	if !s.HasSecrets() || s.SecretKey.Reveal() != "s" {
		t.Error("the key is lost")
	}
	if _, err := DecodeStorage([]byte(`{"type": "shared_fs", "host_path": "/tmp"}`)); err != nil {
		t.Error(err)
	}
}

func TestLocationOfStorage(t *testing.T) {
	for text, want := range map[string]string{
		`{"type": "shared_fs", "host_path": "/srv", "storage_path": "in"}`:                       "/srv/in",
		`{"type": "directory", "container_path": "/c"}`:                                          "/c",
		`{"type": "s3", "bucket": "b", "prefix": "p/q/"}`:                                        "s3://b/p/q",
		`{"type": "gcs", "bucket": "b"}`:                                                         "gs://b",
		`{"type": "azure", "container": "c", "account_url": "https://a.blob.core.windows.net/"}`: "azure://c",
	} {
		s, err := DecodeStorage([]byte(text))
		if err != nil || s.Location() != want {
			t.Errorf("%s: got %q, error %v; want %q", text, s.Location(), err, want)
		}
	}
	if got := (Storage{}).Location(); got != "" {
		t.Errorf("got %q for a storage without a type, want none", got)
	}
}

func TestDecodeStorageIsComplete(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                             "type: is required",
		`{"type": "s4"}`:                 "did you mean s3?",
		`{"type": "s3"}`:                 "bucket: is required",
		`{"type": "gcs", "bukket": "b"}`: "did you mean bucket?",
		`{"type": "gcs", "bucket": "b", "host_path": "/a"}`: "host_path: is not a setting of the type gcs",
		`{"type": "shared_fs", "host_path": "a"}`:           "must be absolute",
		`[]`: "must be a mapping",
	} {
		if _, err := DecodeStorage([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
