package detect

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"
)

// For any output of a vendor's tool, detection either fails or returns devices with unique IDs and
// UUIDs, as the master requires, and the same output yields the same devices.
func FuzzDevices(f *testing.F) {
	recorded := func(name string) []byte {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		return data
	}
	f.Add(recorded("a100x2-query.csv"), recorded("a100x2-list.txt"), []byte(nil), "")
	f.Add(recorded("a100x2-query.csv"), recorded("a100x2-mig-list.txt"), []byte(nil), "1,MIG-5c89852c")
	f.Add([]byte(nil), []byte(nil), recorded("mi250x2.json"), "0")
	f.Add([]byte("-1, a, GPU-a\n4294967295, b, GPU-b"), []byte(nil), []byte(`{"card1":{"Unique ID":"a"},"card01":{"Unique ID":"b"}}`), "")
	f.Add([]byte(nil), []byte(nil), []byte(`{"card1":{"Unique ID":"a","unique id":"b"}}`), "")
	f.Add([]byte("0, a, GPU-a\n0, a, GPU-a"), []byte("GPU 0: a (UUID: GPU-a)\n  MIG 1g Device 0: (UUID: MIG-a)\n  MIG 1g Device 1: (UUID: MIG-a)"), []byte(nil), "")
	f.Fuzz(func(t *testing.T, query, list, rocm []byte, shown string) {
		tools := func(_ context.Context, name string, args ...string) (Output, error) {
			switch {
			case name == "rocm-smi":
				return Output{Stdout: rocm}, nil
			case args[0] == "-L":
				return Output{Stdout: list}, nil
			default:
				return Output{Stdout: query}, nil
			}
		}
		for _, kind := range []SlotType{CUDA, ROCm, Auto} {
			o := Options{SlotType: kind, VisibleGPUs: shown, AgentID: "a", Run: tools}
			found, err := Devices(t.Context(), o)
			if (err == nil) != (len(found.Devices) > 0) {
				t.Fatalf("%s: got %d devices and %v", kind, len(found.Devices), err)
			}
			ids, uuids := map[int32]bool{}, map[string]bool{}
			for _, d := range found.Devices {
				if d.GetId() < 0 || ids[d.GetId()] || d.GetUuid() == "" || uuids[d.GetUuid()] {
					t.Errorf("%s: the master refuses an agent with %v", kind, found.Devices)
				}
				ids[d.GetId()], uuids[d.GetUuid()] = true, true
			}
			again, _ := Devices(t.Context(), o)
			if d := cmp.Diff(again.Devices, found.Devices, protocmp.Transform()); d != "" {
				t.Errorf("%s: the same is read in another way (-got +want):\n%s", kind, d)
			}
		}
	})
}
