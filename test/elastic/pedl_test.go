package elastic_test

import (
	"os"
	"strings"
	"testing"
	"time"

	motest "github.com/det-deploy/det-deploy/test/moto"
	"github.com/det-deploy/det-deploy/test/rest"
)

// oldStartup is the startup script in the configuration of the old cluster. It installs the parts
// of such a cluster's image: Docker, with an image, and a driver that finds four GPUs.
const oldStartup = `|
    cat >/usr/bin/nvidia-smi <<'EOF'
    #!/bin/sh
    for n in 0 1 2 3; do
      case $1 in
      -L) echo "GPU $n: Tesla V100-SXM2-16GB (UUID: GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a7$n)" ;;
      *) echo "$n, Tesla V100-SXM2-16GB, GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a7$n" ;;
      esac
    done
    EOF
    chmod +x /usr/bin/nvidia-smi
    systemctl start docker
    mkdir -p /tmp/image/bin && cp /bin/busybox /tmp/image/bin/ && for name in sh echo hostname; do ln -s busybox /tmp/image/bin/$name; done
    tar -C /tmp/image -c . | docker import -c 'ENV PATH=/bin' - old:latest
`

// TestAnOldClustersFileStartsAndScales runs a master with the configuration of an old cluster from
// the manual, completed with the IDs of the account.
func TestAnOldClustersFileStartsAndScales(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	c, a := prepareAmazon(t)
	block, err := os.ReadFile("../../docs/examples/pedl-master.yaml")
	if err != nil {
		t.Fatal(err)
	}
	c.scheme = "http"
	c.launch("bind_ip: 10.200.0.1\ndata_dir: " + c.path("master") + "\nsecurity: {initial_user_password: " + password + ", allow_plain_http: true}\n" +
		strings.NewReplacer(
			"echo hi", oldStartup, "http://10.0.0.1:8080", "http://10.200.0.1:8080", "ami-0f4677bfc3161edc8", motest.ImageAMD64,
			"arn:aws:iam::123456789012:instance-profile/determined-agent", a.profile, "subnet-1", a.subnets[0], "sg-1", a.group,
			"max_idle_agent_period: 5m", "max_idle_agent_period: 30s",
		).Replace(string(block)))
	out := c.ok("cmd", "run", "--detach", "--config", "resources.slots=0", "--config", "environment.image=old:latest", "sh", "-c", "echo hello from a container")
	fields := strings.Fields(out)
	c.logs(fields[len(fields)-1], "hello from a container")
	for _, m := range a.account.Machines(t) {
		if m.Type != "p3.8xlarge" {
			t.Errorf("got a %s", m.Type)
		}
		if out := c.ok("slot", "list"); strings.Count(out, m.ID) != 4 {
			t.Errorf("want four slots on %s:\n%s", m.ID, out)
		}
	}
	c.machines(0, 3*time.Minute)
}
