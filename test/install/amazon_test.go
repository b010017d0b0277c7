package install_test

import (
	"context"
	"os/exec"
	"testing"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/ec2cloud"
	motest "github.com/det-deploy/det-deploy/test/moto"
	"github.com/det-deploy/det-deploy/test/rest"
)

// amazon is an AWS account.
type amazon struct {
	lab     *booter.Lab
	account *motest.Account
}

func (a amazon) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := a.lab.Command(ctx, program, args...)
	cmd.Env = a.account.Env()
	return cmd
}

func (amazon) noun() string { return "aws" }

func (amazon) flags() []string {
	return []string{"--master-image", motest.ImageAMD64, "--agent-image", motest.ImageAMD64}
}

func (amazon) address() string { return "198.18." }

func (a amazon) left(t testing.TB) (out []string) {
	t.Helper()
	for _, m := range a.account.Machines(t) {
		if m.State == "running" || m.State == "pending" {
			out = append(out, m.ID)
		}
	}
	return out
}

func TestTheLifeOfACluster(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	lab := booter.OpenLab(t)
	server := motest.Serve(t, motest.Place{Address: booter.Gateway, Wrap: lab.Wrap(), Client: lab.Client()})
	a := amazon{lab: lab, account: server.Account(t)}
	booter.Start(t, lab, ec2cloud.New(a.account))
	p := &person{t: t, site: a, home: t.TempDir()}
	p.live()
}
