package ec2cloud_test

import (
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/test/booter"
	"github.com/det-deploy/det-deploy/test/booter/ec2cloud"
	motest "github.com/det-deploy/det-deploy/test/moto"
)

// userData is a cloud-init document like those of package templates. Its script runs at each boot
// and writes its observations to the console.
const userData = `#cloud-config
write_files:
  - path: /var/lib/cloud/scripts/per-boot/hello
    permissions: "0755"
    content: |
      #!/bin/sh
      token=$(curl -s -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' http://169.254.169.254/latest/api/token)
      ask() { curl -s -H "X-aws-ec2-metadata-token: $token" "http://169.254.169.254/latest/meta-data/$1"; }
      {
        echo "I am $(ask instance-id) at $(ask local-ipv4), $(hostname)"
        echo "role $(ask iam/security-credentials/)"
        echo "init is $(cat /proc/1/comm), $(ls /proc | grep -c '^[0-9]*$') processes"
        echo "without a token: $(curl -s -o /dev/null -w '%{http_code}' http://169.254.169.254/latest/meta-data/)"
        echo "out: $(curl -s -m 2 -o /dev/null -w '%{http_code}' http://1.1.1.1/)"
        echo "master: $(curl -s -m 5 http://10.200.0.1:MASTERPORT/)"
      } >/dev/console
runcmd:
  - [sh, -c, "echo user data ran >/dev/console"]
`

// lab returns an isolated network with an emulated account whose instances boot for real.
func lab(t *testing.T) (*booter.Lab, *motest.Account, *booter.Booter) {
	t.Helper()
	l := booter.OpenLab(t)
	server := motest.Serve(t, motest.Place{Address: booter.Gateway, Wrap: l.Wrap(), Client: l.Client()})
	a := server.Account(t)
	return l, a, booter.Start(t, l, ec2cloud.New(a))
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !ok(); <-time.After(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within three minutes", what)
		}
	}
}

// greet starts an HTTP server in the lab that greets its clients, and returns its port.
func greet(t *testing.T, l *booter.Lab) (port string) {
	t.Helper()
	listener := l.Listen(t)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprint(w, "hello ", host)
	})}
	go func() { _ = server.Serve(listener) }() // it returns when the listener is closed
	t.Cleanup(func() { _ = server.Close() })
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return port
}

func TestInstanceBootsAndIsTerminated(t *testing.T) {
	t.Parallel()
	l, a, b := lab(t)
	a.Role(t, "agent", "")
	port := greet(t, l)
	c := ec2.NewFromConfig(a.Config())
	began := time.Now()
	out, err := c.RunInstances(t.Context(), &ec2.RunInstancesInput{
		ImageId: aws.String(motest.ImageAMD64), InstanceType: types.InstanceTypeT3Micro, MinCount: aws.Int32(1), MaxCount: aws.Int32(2),
		UserData:                          aws.String(base64.StdEncoding.EncodeToString([]byte(strings.ReplaceAll(userData, "MASTERPORT", port)))),
		IamInstanceProfile:                &types.IamInstanceProfileSpecification{Name: aws.String("agent")},
		InstanceInitiatedShutdownBehavior: types.ShutdownBehaviorTerminate,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range out.Instances {
		id := *i.InstanceId
		eventually(t, id+" has run its user data", func() bool {
			return strings.Contains(b.Console(id), "master: hello") && strings.Contains(b.Console(id), "user data ran")
		})
		t.Logf("%s ran its user data after %s", id, time.Since(began).Round(time.Millisecond))
		text := b.Console(id)
		for _, want := range []string{
			fmt.Sprintf("I am %s at %s, ip-%s", id, *i.PrivateIpAddress, strings.ReplaceAll(*i.PrivateIpAddress, ".", "-")),
			"role agent", "init is systemd", "without a token: 401", "out: 000", "master: hello " + *i.PrivateIpAddress,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q", id, want)
			}
		}
	}
	one, two := *out.Instances[0].InstanceId, *out.Instances[1].InstanceId
	if _, err := c.TerminateInstances(t.Context(), &ec2.TerminateInstancesInput{InstanceIds: []string{one}}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the terminated one dies and the other stays", func() bool { return len(b.Running()) == 1 && b.Running()[0] == two })
	off, err := b.Command(t.Context(), two, "systemctl", "poweroff")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := off.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	eventually(t, "what powers itself off is terminated", func() bool {
		all := a.Machines(t)
		return all[0].State == "terminated" && all[1].State == "terminated"
	})
}
