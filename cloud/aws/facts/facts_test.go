package facts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

func ask() (facts.Facts, *awstest.World) {
	w := awstest.New(awstest.Options{})
	return facts.Facts{Clients: w.Clients(nil)}, w
}

func TestTypes(t *testing.T) {
	t.Parallel()
	f, _ := ask()
	got, err := f.Types(t.Context(), "g5.12xlarge", "m6g.large", "no.such")
	if err != nil {
		t.Fatal(err)
	}
	gpu, arm := got["g5.12xlarge"], got["m6g.large"]
	if len(got) != 2 || gpu.Slots() != 4 || gpu.VCPU != 48 || gpu.String() != "g5.12xlarge (48 vCPU, 192 GB, 4 x A10G)" {
		t.Errorf("got %d types and %s with %d slots, want the two that exist, and 4", len(got), gpu, gpu.Slots())
	}
	if d := cmp.Diff(arm.Architectures, []string{"arm64"}); d != "" {
		t.Errorf("architectures: got -, want +:\n%s", d)
	}
	all, err := f.Types(t.Context())
	if err != nil || len(all) < 10 {
		t.Errorf("got %d and %v, want all types of all pages", len(all), err)
	}
}

func TestOffersByZone(t *testing.T) {
	t.Parallel()
	f, _ := ask()
	got, err := f.Offered(t.Context(), "p4d.24xlarge", "m6i.large")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"p4d.24xlarge": {"us-west-2b"}, "m6i.large": {"us-west-2a", "us-west-2b", "us-west-2c"}}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestTheNewestImage(t *testing.T) {
	t.Parallel()
	f, w := ask()
	for _, tc := range []struct {
		stock facts.Stock
		arch  string
		want  string
	}{
		{facts.MasterStock(), "amd64", awstest.ImageNobleAMD64},
		{facts.MasterStock(), "arm64", awstest.ImageNobleARM64},
		{facts.AgentStock(), "amd64", awstest.ImageGPUAMD64},
		{facts.AgentStock(), "arm64", awstest.ImageGPUARM64},
	} {
		got, err := newest(t, f, tc.stock, tc.arch)
		if err != nil || got.ID != tc.want || got.Architecture != tc.arch {
			t.Errorf("%s for %s: got %+v and %v, want %s", tc.stock.What, tc.arch, got, err, tc.want)
		}
	}
	// Without the permission to read parameters, the image is found by its name.
	w.Deny("ssm:GetParameter")
	got, err := newest(t, f, facts.MasterStock(), "amd64")
	if err != nil || got.ID != awstest.ImageNobleAMD64 {
		t.Errorf("by name: got %+v and %v, want %s", got, err, awstest.ImageNobleAMD64)
	}
	if got, err := newest(t, f, facts.AgentStock(), "amd64"); err != nil || got.ID != awstest.ImageGPUAMD64 {
		t.Errorf("by name: got %+v and %v, want %s, not the later one of the release before", got, err, awstest.ImageGPUAMD64)
	}
	if _, err := f.Image(t.Context(), "ami-0123456789abcdef0"); cloud.KindOf(err) != cloud.NotFound {
		t.Errorf("an image that is not there: got %v, want an error of kind not-found", err)
	}
}

// Where Amazon publishes no image with Ubuntu 24.04, agents get the one with 22.04.
func TestOlderImageOfAgents(t *testing.T) {
	t.Parallel()
	f, w := ask()
	w.WithdrawImage(awstest.ImageGPUAMD64)
	check := func(how string) {
		t.Helper()
		if got, err := newest(t, f, facts.AgentStock(), "amd64"); err != nil || got.ID != awstest.ImageOldGPUAMD64 {
			t.Errorf("%s: got %+v and %v, want %s", how, got, err, awstest.ImageOldGPUAMD64)
		}
	}
	check("by parameter")
	w.Deny("ssm:GetParameter")
	check("by name")
}

func newest(t *testing.T, f facts.Facts, stock facts.Stock, arch string) (facts.Image, error) {
	t.Helper()
	id, why := f.Published(t.Context(), stock, arch)
	return f.Newest(t.Context(), stock, arch, id, why)
}

func TestVCPUQuota(t *testing.T) {
	t.Parallel()
	for instanceType, want := range map[string][2]string{
		"m6i.large":       {"L-1216C47A", "L-34B43A08"},
		"im4gn.large":     {"L-1216C47A", "L-34B43A08"},
		"t3.large":        {"L-1216C47A", "L-34B43A08"},
		"g5.xlarge":       {"L-DB2E81BA", "L-3819A6DF"},
		"gr6.4xlarge":     {"L-DB2E81BA", "L-3819A6DF"},
		"vt1.3xlarge":     {"L-DB2E81BA", "L-3819A6DF"},
		"p4d.24xlarge":    {"L-417A185B", "L-7212CCBC"},
		"p5.48xlarge":     {"L-417A185B", "L-C4BD4855"},
		"inf2.xlarge":     {"L-1945791B", "L-B5D1601B"},
		"trn1.2xlarge":    {"L-2C3B7624", "L-6B0D517C"},
		"dl1.24xlarge":    {"L-6E869C2A", "L-85EED4F7"},
		"x2idn.16xlarge":  {"L-7295265B", "L-E3A00192"},
		"f1.2xlarge":      {"L-74FC7D96", "L-88CF9481"},
		"u-6tb1.56xlarge": {"L-43DA4232", ""},
		"mac2.metal":      {"", ""},
	} {
		onDemand, _ := facts.VCPUQuota(instanceType, false)
		spot, hasSpot := facts.VCPUQuota(instanceType, true)
		if onDemand.Code != want[0] || hasSpot != (want[1] != "") || hasSpot && spot.Code != want[1] {
			t.Errorf("%s: got %q and %q, want %q", instanceType, onDemand.Code, spot.Code, want)
		}
	}
}

func TestCallerPrincipal(t *testing.T) {
	t.Parallel()
	for arn, want := range map[string]string{
		"arn:aws:iam::123456789012:user/ann":                    "arn:aws:iam::123456789012:user/ann",
		"arn:aws:sts::123456789012:assumed-role/Admin/ann@corp": "arn:aws:iam::123456789012:role/Admin",
	} {
		if got := (facts.Caller{ARN: arn}).Principal(); got != want {
			t.Errorf("%s: got %s, want %s", arn, got, want)
		}
	}
}

func TestRoomFree(t *testing.T) {
	t.Parallel()
	f, w := ask()
	w.SetQuota("L-F678F1CE", 3)
	r, err := f.VPCs(t.Context())
	if err != nil || r.Limit != 3 || r.Used != 1 || r.Free() != 2 {
		t.Errorf("got %+v and %v, want 2 of 3 left beside the default network", r, err)
	}
}
