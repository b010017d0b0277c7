package main

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/det-deploy/det-deploy/cloud/aws/infra/mark"
)

// occupy creates a network interface of another owner in the cluster's subnet and sets HOLDER to
// its ID; ! occupy deletes it.
func occupy(ctx context.Context, ts *testscript.TestScript, neg bool) {
	c, err := config.LoadDefaultConfig(ctx, config.WithRegion("us-west-2"), config.WithBaseEndpoint(ts.Getenv("AWS_ENDPOINT_URL")),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(ts.Getenv("AWS_ACCESS_KEY_ID"), ts.Getenv("AWS_SECRET_ACCESS_KEY"), "")))
	ts.Check(err)
	network := ec2.NewFromConfig(c)
	if neg {
		_, err := network.DeleteNetworkInterface(ctx, &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: aws.String(ts.Getenv("HOLDER"))})
		ts.Check(err)
		return
	}
	subnets, err := network.DescribeSubnets(ctx, &ec2.DescribeSubnetsInput{Filters: []types.Filter{{Name: aws.String("tag-key"), Values: []string{mark.ClusterTag}}}})
	ts.Check(err)
	if len(subnets.Subnets) == 0 {
		ts.Fatalf("the cluster has no subnet")
	}
	out, err := network.CreateNetworkInterface(ctx, &ec2.CreateNetworkInterfaceInput{SubnetId: subnets.Subnets[0].SubnetId})
	ts.Check(err)
	ts.Setenv("HOLDER", aws.ToString(out.NetworkInterface.NetworkInterfaceId))
}

// interrupt runs a program and sends SIGINT when it prints a line with a text. The program must
// fail soon after, long before the time limit of its wait:
//
//	interrupt TEXT program arguments…
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: interrupt TEXT program arguments…")
	}
	path, err := exec.LookPath(args[1])
	ts.Check(err)
	c := exec.Command(path, args[2:]...)
	c.Dir, c.Env = ts.Getenv("WORK"), environment(ts)
	stderr, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	hung := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	defer hung.Stop()
	seen, pressed := "", false
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		seen += lines.Text() + "\n"
		if !pressed && strings.Contains(lines.Text(), args[0]) {
			pressed = true
			ts.Check(c.Process.Signal(os.Interrupt))
			hung.Reset(time.Minute)
		}
	}
	err = c.Wait()
	ts.Logf("%s", seen)
	ts.Check(os.WriteFile(ts.MkAbs("interrupted"), []byte(seen), 0o600))
	if code := c.ProcessState.ExitCode(); !pressed || code <= 0 {
		ts.Fatalf("got %v, want an interruption after %q", err, args[0])
	}
}
