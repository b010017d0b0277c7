package detect

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// answers are recorded outputs, keyed by the beginning of the command line.
type answers map[string]answer

type answer struct {
	file string
	code int
	err  error
}

func (a answers) runner(t *testing.T) Runner {
	return func(_ context.Context, name string, args ...string) (Output, error) {
		line := strings.Join(append([]string{name}, args...), " ")
		for prefix, ans := range a {
			if !strings.HasPrefix(line, prefix) {
				continue
			}
			if ans.err != nil {
				return Output{}, ans.err
			}
			data, err := os.ReadFile("testdata/" + ans.file)
			if err != nil {
				t.Fatal(err)
			}
			return Output{Stdout: data, Code: ans.code}, nil
		}
		return Output{}, ErrNoTool
	}
}

var (
	twoA100 = answers{
		"nvidia-smi --query-gpu": {file: "a100x2-query.csv"},
		"nvidia-smi -L":          {file: "a100x2-list.txt"},
	}
	splitA100 = answers{
		"nvidia-smi --query-gpu": {file: "a100x2-query.csv"},
		"nvidia-smi -L":          {file: "a100x2-mig-list.txt"},
	}
	noDriver = answers{"nvidia-smi": {file: "no-driver.txt", code: 9}}
	twoMI250 = answers{"rocm-smi": {file: "mi250x2.json"}}
)

const (
	gpu0 = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77"
	gpu1 = "GPU-c6d4f1f8-8a8b-4f2e-93a4-1b6f3b0f0f5e"
	mig0 = "MIG-5c89852c-d268-c3f3-1b07-005d5ae1dc3f"
	mig1 = "MIG-3bbd5e0e-2f4a-5f0e-8a1d-3f1e0a3a5a11"
)

func nvidia(id int32, brand, uuid string) *apiv1.Device {
	return &apiv1.Device{Id: id, Brand: brand, Uuid: uuid, Type: apiv1.Device_TYPE_CUDA}
}

func TestDevices(t *testing.T) {
	t.Parallel()
	const a100 = "NVIDIA A100-SXM4-40GB"
	amd := func(id int32, uuid string) *apiv1.Device {
		return &apiv1.Device{Id: id, Brand: "AMD INSTINCT MI250", Uuid: uuid, Type: apiv1.Device_TYPE_ROCM}
	}
	oneCPU := []*apiv1.Device{{
		Brand: "AMD EPYC 7R32 x 8 cores", Uuid: derivedUUID("a", "cpu"), Type: apiv1.Device_TYPE_CPU,
	}}
	both := []*apiv1.Device{nvidia(0, a100, gpu0), nvidia(1, a100, gpu1)}
	split := []*apiv1.Device{
		nvidia(0, a100+" MIG 3g.20gb", mig0), nvidia(1, a100+" MIG 3g.20gb", mig1), nvidia(2, a100, gpu1),
	}
	for _, tc := range []struct {
		name     string
		opts     Options
		tools    answers
		want     []*apiv1.Device
		problems int
	}{
		{name: "auto takes NVIDIA GPUs", tools: twoA100, want: both},
		{name: "auto takes AMD GPUs where there is no nvidia-smi", tools: twoMI250, want: []*apiv1.Device{amd(0, "0x9aa31a1d4d8e2c0d"), amd(1, "0x8b2f3f5c1a7de0b4")}},
		{name: "auto without tools is one slot for all cores", want: oneCPU},
		{name: "auto with a broken driver says so and takes the CPU", tools: noDriver, want: oneCPU, problems: 1},
		{name: "cpu asks no tool", opts: Options{SlotType: CPU}, tools: twoA100, want: oneCPU},
		{name: "none has no slot", opts: Options{SlotType: None}, tools: twoA100},
		{name: "gpu finds AMD as well", opts: Options{SlotType: GPU}, tools: twoMI250, want: []*apiv1.Device{amd(0, "0x9aa31a1d4d8e2c0d"), amd(1, "0x8b2f3f5c1a7de0b4")}},
		{name: "a split GPU is its instances", opts: Options{SlotType: CUDA}, tools: splitA100, want: split},
		{name: "visible by index", opts: Options{VisibleGPUs: "1"}, tools: twoA100, want: both[1:]},
		{name: "visible by the beginning of a UUID", opts: Options{VisibleGPUs: " GPU-5d5b"}, tools: twoA100, want: both[:1]},
		{name: "visible by instance", opts: Options{VisibleGPUs: mig1}, tools: splitA100, want: []*apiv1.Device{nvidia(0, a100+" MIG 3g.20gb", mig1)}},
		{name: "visible -1 hides all", opts: Options{VisibleGPUs: "-1"}, tools: twoA100, want: oneCPU},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			o := tc.opts
			o.AgentID, o.CPUModel, o.Cores, o.Run = "a", "AMD EPYC 7R32", 8, tc.tools.runner(t)
			got, err := Devices(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(tc.want, got.Devices, protocmp.Transform()); d != "" {
				t.Errorf("devices differ (-want +got):\n%s", d)
			}
			if len(got.Problems) != tc.problems {
				t.Errorf("got %d problems (%v), want %d", len(got.Problems), got.Problems, tc.problems)
			}
		})
	}
}

func TestDetectErrors(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		opts  Options
		tools answers
		want  string
		is    error
	}{
		{name: "a failing tool gives command, exit and words", opts: Options{SlotType: CUDA}, tools: noDriver, want: "run nvidia-smi --query-gpu=index,name,uuid --format=csv,noheader: exit code 9: NVIDIA-SMI has failed"},
		{name: "an absent tool with an explicit type", opts: Options{SlotType: ROCm}, want: "run rocm-smi", is: ErrNoTool},
		{name: "no GPU of any vendor", opts: Options{SlotType: GPU}, is: ErrNoDevice, want: "slot_type gpu"},
		{name: "gpu keeps the cause", opts: Options{SlotType: GPU}, tools: noDriver, is: ErrNoDevice, want: "exit code 9"},
		{name: "a visible GPU that is not there", opts: Options{SlotType: CUDA, VisibleGPUs: "0,7"}, tools: twoA100, want: `no GPU matches "7" (found 2)`},
		{name: "an unknown type", opts: Options{SlotType: "tpu"}, want: "must be one of"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			tc.opts.Run = tc.tools.runner(t)
			_, err := Devices(t.Context(), tc.opts)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("got %v, want an error with %q", err, tc.want)
			}
			if tc.is != nil && !errors.Is(err, tc.is) {
				t.Errorf("got %v, want errors.Is %v", err, tc.is)
			}
		})
	}
}

func TestArtificialSlots(t *testing.T) {
	t.Parallel()
	find := func(id string) []*apiv1.Device {
		f, err := Devices(t.Context(), Options{SlotType: CUDA, ArtificialSlots: 3, AgentID: id})
		if err != nil {
			t.Fatal(err)
		}
		return f.Devices
	}
	first, again, other := find("a"), find("a"), find("b")
	if d := cmp.Diff(first, again, protocmp.Transform()); d != "" {
		t.Errorf("a restarted agent has other slots:\n%s", d)
	}
	if first[0].GetUuid() == other[0].GetUuid() || first[0].GetUuid() == first[1].GetUuid() {
		t.Errorf("got the same UUID twice: %v, %v, %v", first[0], first[1], other[0])
	}
	if first[2].GetId() != 2 || first[2].GetBrand() != "Artificial" || first[2].GetType() != apiv1.Device_TYPE_CPU {
		t.Errorf("got %v, want an artificial CPU slot 2", first[2])
	}
}

func TestBrokenAnswersAreRefused(t *testing.T) {
	t.Parallel()
	if _, err := parseQuery([]byte("Unable to determine the device handle for GPU 0000:07:00.0: GPU is lost.\n")); err == nil {
		t.Error("got no error for a lost GPU")
	}
	if err := addParts(nil, []byte("  MIG 1g.5gb      Device  0: (UUID: MIG-x)\n")); err == nil {
		t.Error("got no error for an instance without a GPU")
	}
	if _, err := parseROCm([]byte(`{"card0":{"Card series":"x"}}`)); err == nil {
		t.Error("got no error for a card without an identity")
	}
	if _, err := parseROCm([]byte(`no devices`)); err == nil {
		t.Error("got no error for what is not JSON")
	}
}

func TestExec(t *testing.T) {
	t.Parallel()
	out, err := Exec(t.Context(), "sh", "-c", "echo out; echo err >&2; exit 3")
	if err != nil || string(out.Stdout) != "out\n" || string(out.Stderr) != "err\n" || out.Code != 3 {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, err := Exec(t.Context(), "no-such-program-here"); !errors.Is(err, ErrNoTool) {
		t.Errorf("got %v, want ErrNoTool", err)
	}
	if _, cores := Processor(); cores < 1 {
		t.Errorf("got %d cores", cores)
	}
}
