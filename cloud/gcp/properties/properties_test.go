package properties_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
)

// Google's JSON encodes 64-bit integers as strings; users write them as numbers.
func TestNumbersAndTexts(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"disks": [{"initializeParams": {"diskSizeGb": "500"}}], "guestAccelerators": [{"acceleratorCount": 2}], "labels": {"team": "7"}}`,
		`{"disks": [{"initializeParams": {"diskSizeGb": 500}}], "guestAccelerators": [{"acceleratorCount": "2"}], "labels": {"team": 7}}`,
	} {
		p, err := properties.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if p.Disks[0].InitializeParams.DiskSizeGb != 500 || p.GuestAccelerators[0].AcceleratorCount != 2 || p.Labels["team"] != "7" {
			t.Errorf("%s: got %+v", text, p)
		}
	}
}

// An explicit false or 0 is sent, because Google's default may differ.
func TestExplicitZeroValuesAreSent(t *testing.T) {
	t.Parallel()
	const text = `{"disks":[{"autoDelete":false,"source":"zones/us-west1-b/disks/data"}],"scheduling":{"automaticRestart":false},"shieldedInstanceConfig":{"enableVtpm":false}}`
	p, err := properties.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(got), text); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}

func TestInvalidPropertiesAreRejected(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		``:     nil,
		`{}`:   nil,
		`null`: nil,
		`{"disks": null, "tags": {"items": ["a"]}}`: nil,
		`{"disk": []}`: {"disk: unknown key (did you mean disks?)"},
		`{"disks": [{"autoDelet": true, "mode": "READ_ONLY"}], "zzzzzzzz": 1}`: {"disks[0].autoDelet: unknown key (did you mean autoDelete?)", "zzzzzzzz: unknown key"},
		`{"disks": {"source": "x"}}`:                          {"disks: must be a list (is a mapping)"},
		`{"disks": [null]}`:                                   {"disks[0]: is empty (remove it or give it a value)"},
		`{"disks": [{"autoDelete": "no"}]}`:                   {`disks[0].autoDelete: must be true or false (is "no")`},
		`{"disks": [{"diskSizeGb": "big"}]}`:                  {`disks[0].diskSizeGb: must be a number (is "big")`},
		`{"disks": [{"diskSizeGb": 1.5}]}`:                    {"disks[0].diskSizeGb: must be a number (is 1.5)"},
		`{"disks": [{"index": 99999999999999999999}]}`:        {"disks[0].index: must be a number (is 99999999999999999999)"},
		`{"minCpuPlatform": true}`:                            {"minCpuPlatform: must be text (is true)"},
		`{"scheduling": []}`:                                  {"scheduling: must be a mapping (is a list)"},
		`{"labels": ["a"]}`:                                   {"labels: must be a mapping (is a list)"},
		`{"labels": {"a": {}}}`:                               {"labels.a: must be text (is a mapping)"},
		`[]`:                                                  {"must be a mapping (is a list)"},
		`{"scheduling": {"maxRunDuration": {"second": "1"}}}`: {"scheduling.maxRunDuration.second: unknown key (did you mean seconds?)"},
		`{"disks": [{"boot": true}]}`: {
			"disks[0].boot: must be false: a machine has one boot disk, the first one (use boot_disk_size, boot_disk_type and boot_disk_source_image)",
		},
		`{"disks": [{"source": "zones/a/disks/x"}, {"source": "https://www.googleapis.com/compute/v1/projects/p/zones/b/disks/x"}, {"source": "regions/r/disks/x"}]}`: {
			"disks: are in several zones, but a machine is in one: a, b",
		},
	} {
		_, err := properties.Parse([]byte(text))
		var got []string
		if p, ok := errors.AsType[properties.Problems](err); ok {
			got = strings.Split(p.Error(), "\n")
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("%s (-got +want):\n%s", text, diff)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"disks": [{"source": "zones/a/disks/x", "diskSizeGb": 1}]}`, `[1]`, `{"labels": {"a": 1}}`, `{"scheduling": {"nodeAffinities": [{"values": ["a"]}]}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := properties.Parse(data)
		if err != nil {
			if len(err.Error()) == 0 {
				t.Error("an error without text")
			}
			return
		}
		again, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := properties.Parse(again); err != nil {
			t.Errorf("%s was parsed, but its encoding %s was rejected: %v", data, again, err)
		}
	})
}
