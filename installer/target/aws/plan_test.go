package aws_test

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/identity"
	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
	"github.com/det-deploy/det-deploy/installer/event"
	"github.com/det-deploy/det-deploy/installer/plan"
	"github.com/det-deploy/det-deploy/installer/spec"
	hostedtest "github.com/det-deploy/det-deploy/test/contract/hosted"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// The first plan shows the properties of new resources in addition to their names.
func TestFirstPlanShowsTypesSizesAndRanges(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}), "zone", "us-west-2a,us-west-2b", "master-zone", "us-west-2b", "key-pair", "lab", "ssh", "true", "data-volume-size", "150")
		in, _, err := s.operator(t.Context())
		must(t, err)
		p, err := in.Plan(t.Context())
		must(t, err)
		var b strings.Builder
		must(t, p.Render(&b))
		for _, want := range []string{
			"m6i.large, ami-", "root volume of ", "key pair lab", "150 GiB gp3, encrypted, in us-west-2b",
			"      10.", "/19 in us-west-2a", "admits TCP 8443 from 203.0.113.0/24: users to the master",
			"admits TCP 22 from 203.0.113.0/24: administrators to the machine", "admits everything from aws/security-group/agents: agents to each other",
			"retention: ", "det-deploy-lab-data-",
			" 0 to 5 × " + spec.DefaultAWSPool().InstanceTypes[0] + ", idle for up to 10m, in us-west-2a, us-west-2b",
		} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the plan lacks %q:\n%s", want, b.String())
			}
		}
	})
}

// A changed pool is shown by its keys, and a setting that is recorded by its name.
func TestPlanShowsKeysOfChangedPools(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		must(t, s.Up(t.Context()))
		s.Set("max-agents", "8", "spot", "true")
		in, _, err := s.operator(t.Context())
		must(t, err)
		p, err := in.Plan(t.Context())
		must(t, err)
		var b strings.Builder
		must(t, p.Render(&b))
		for _, want := range []string{".max_instances: 5 → 8", ".spot: false → true", "settings.spot: absent → present"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("the plan lacks %q:\n%s", want, b.String())
			}
		}
		if strings.Contains(b.String(), "master.yaml") {
			t.Errorf("the plan shows the file beside its keys:\n%s", b.String())
		}
	})
}

// Data of an earlier cluster stays in its zone. The error names the flag that places the master
// there, and with that flag `up` succeeds.
func TestDataInAnotherZoneNamesTheFlag(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, tt := range []struct{ name, first, second, want string }{
			{"us-west-2b", "us-west-2a,us-west-2b", "us-west-2a,us-west-2b", "--master-zone us-west-2b"},
			{"us-west-2c", "us-west-2b,us-west-2c", "us-west-2a,us-west-2b", "--zone us-west-2a,us-west-2b,us-west-2c --master-zone us-west-2c"},
		} {
			c := inMemory(awstest.Options{})
			s := newStage(c, "zone", tt.first, "master-zone", tt.name)
			must(t, s.Up(t.Context()))
			_, err := s.Down(t.Context(), false)
			must(t, err)
			s = newStage(c, "zone", tt.second)
			err = s.Up(t.Context())
			if !errors.Is(err, plan.ErrRefused) || event.Hint(err) != tt.want {
				t.Errorf("%s: got %v and the hint %q, want %q", tt.name, err, event.Hint(err), tt.want)
			}
			for flag := range strings.SplitSeq(strings.TrimPrefix(event.Hint(err), "--"), " --") {
				name, value, _ := strings.Cut(flag, " ")
				s.Set(name, value)
			}
			must(t, s.Up(t.Context()))
			s.WantNothingToDo(t)
		}
	})
}

// In an account that never used spot instances, the confirmed plan creates the service-linked role,
// which is then kept.
func TestPlanCreatesAndKeepsTheSpotRole(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const id = "aws/service-linked-role/" + identity.SpotRoleName
		c := inMemory(awstest.Options{})
		s := newStage(c)
		if got := s.Plan(t); slices.Contains(got, "create "+id) {
			t.Errorf("without spot pools: the plan has %s", id)
		}
		s.Set("spot", "true")
		if got := s.Plan(t); !slices.Contains(got, "create "+id) {
			t.Errorf("got %v, want the plan to make the role", got)
		}
		must(t, s.Up(t.Context()))
		s.WantNothingToDo(t)
		before := c.world.Live()
		receipt, err := s.Down(t.Context(), true)
		must(t, err)
		_, err = c.clients(nil).IAM.GetRole(t.Context(), &iam.GetRoleInput{RoleName: sdk.String(identity.SpotRoleName)})
		must(t, err)
		for _, f := range slices.Concat(receipt.Removed, receipt.Kept, receipt.Left) {
			if f.Kind == mark.KindSpotRole {
				t.Errorf("the receipt mentions %s, which is the account's", f)
			}
		}
		if len(before) == 0 {
			t.Error("nothing was there to be taken down")
		}
	})
}

// slowProgram is a program that takes long to read, by the clock of the test.
type slowProgram struct {
	hostedtest.ProgramFile

	late *atomic.Int64 // nanoseconds
}

func (p slowProgram) Read(b []byte) (int, error) {
	p.late.Add(int64(4 * time.Second))
	return p.ProgramFile.Read(b[:min(len(b), 1_000_000)])
}

// The first `up` reports the progress of the upload.
func TestUpReportsUploadProgress(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := newStage(inMemory(awstest.Options{}))
		in, target, err := s.operator(t.Context())
		must(t, err)
		late := new(atomic.Int64)
		target.Now = func() time.Time { return time.Now().Add(time.Duration(late.Load())) }
		target.Open = func(string) (io.ReadSeekCloser, error) {
			return slowProgram{hostedtest.ProgramFile{Reader: bytes.NewReader(make([]byte, 3_000_000))}, late}, nil
		}
		var told []string
		in.Emit = func(e event.Event) {
			if e.Type == event.Progress && e.Subject == "aws/program/amd64" {
				told = append(told, e.Message)
			}
		}
		p, err := in.Plan(t.Context())
		must(t, err)
		must(t, in.Up(t.Context(), p))
		if !slices.ContainsFunc(told, func(m string) bool { return strings.Contains(m, " of 3 MB (") }) {
			t.Errorf("got %q, want how far it is", told)
		}
	})
}
