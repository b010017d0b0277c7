package booter

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	motest "github.com/det-deploy/det-deploy/test/moto"
)

// look is how often the booter asks the cloud what there is.
const look = 200 * time.Millisecond

// Booter makes what an account has launched run.
type Booter struct {
	t       testing.TB
	lab     *Lab
	account *motest.Account
	ec2     *ec2.Client

	// mu guards what is below, and whether machines are dead.
	mu       sync.Mutex
	machines map[string]*running
	born     int
}

// running is a machine and its metadata service. A dead one is kept for its
// console.
type running struct {
	*machine
	metadata *metadata
	dead     bool
	// poweredOff says that the cloud was told.
	poweredOff bool
	// has is what was attached to it since it boots: addresses and disks.
	has map[string]bool
}

// Start boots whatever the account launches, until the test ends. The account's
// server runs in the lab.
func Start(t testing.TB, lab *Lab, account *motest.Account) *Booter {
	t.Helper()
	b := &Booter{t: t, lab: lab, account: account, ec2: ec2.NewFromConfig(account.Config()), machines: map[string]*running{}}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		b.run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		b.stopAll(context.WithoutCancel(ctx))
	})
	return b
}

func (b *Booter) run(ctx context.Context) {
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		if err := b.turn(ctx); err != nil && ctx.Err() == nil {
			b.t.Logf("booter: %v", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// turn makes what runs what there is.
func (b *Booter) turn(ctx context.Context) error {
	var errs []error
	for pages := ec2.NewDescribeInstancesPaginator(b.ec2, &ec2.DescribeInstancesInput{}); pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return err
		}
		for _, r := range page.Reservations {
			for _, i := range r.Instances {
				errs = append(errs, b.settle(ctx, i))
			}
		}
	}
	errs = append(errs, b.attach(ctx))
	all, err := b.account.Look(ctx)
	for _, m := range all {
		if r := b.get(m.ID); r != nil {
			if len(m.Notice) > 0 && string(m.Notice) != "null" {
				r.metadata.set("meta-data/spot/instance-action", string(m.Notice))
			}
			if len(m.Rebalance) > 0 && string(m.Rebalance) != "null" {
				r.metadata.set("meta-data/events/recommendations/rebalance", string(m.Rebalance))
			}
		}
	}
	return errors.Join(append(errs, err)...)
}

func (b *Booter) get(id string) *running {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.machines[id]
}

// settle boots, kills or reports one machine.
func (b *Booter) settle(ctx context.Context, i types.Instance) error {
	id := aws.ToString(i.InstanceId)
	r := b.get(id)
	alive := i.State.Name == types.InstanceStateNamePending || i.State.Name == types.InstanceStateNameRunning
	switch {
	case alive && r == nil:
		return b.boot(ctx, i)
	case !alive && r != nil && !r.dead:
		return b.kill(ctx, r)
	case alive && r != nil && !r.poweredOff:
		select {
		case <-r.ended:
			b.mu.Lock()
			r.poweredOff = true
			b.mu.Unlock()
			return b.tell(ctx, id)
		default:
		}
	}
	return nil
}

func (b *Booter) boot(ctx context.Context, i types.Instance) error {
	id := aws.ToString(i.InstanceId)
	h := host{name: "ip-" + strings.ReplaceAll(aws.ToString(i.PrivateIpAddress), ".", "-"), addresses: []string{aws.ToString(i.PrivateIpAddress)}}
	if i.PublicIpAddress != nil {
		h.addresses = append(h.addresses, *i.PublicIpAddress)
	}
	md, err := b.describe(ctx, i, h)
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.born++
	n := b.born
	b.mu.Unlock()
	m, err := b.lab.boot(ctx, n, id, h, md)
	if err != nil {
		return err
	}
	b.t.Logf("booter: %s boots at %s", id, h.addresses)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.machines[id] = &running{machine: m, metadata: md, has: map[string]bool{}}
	return nil
}

func (b *Booter) kill(ctx context.Context, r *running) error {
	b.mu.Lock()
	r.dead = true
	b.mu.Unlock()
	b.t.Logf("booter: %s dies", r.id)
	// A machine that began to die dies.
	return r.stop(context.WithoutCancel(ctx))
}

// tell says to the cloud that a machine has powered itself off.
func (b *Booter) tell(ctx context.Context, id string) error {
	b.t.Logf("booter: %s has powered itself off", id)
	out, err := b.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{
		InstanceId: &id, Attribute: types.InstanceAttributeNameInstanceInitiatedShutdownBehavior,
	})
	if err != nil {
		return err
	}
	if aws.ToString(out.InstanceInitiatedShutdownBehavior.Value) == "terminate" {
		_, err = b.ec2.TerminateInstances(ctx, &ec2.TerminateInstancesInput{InstanceIds: []string{id}})
	} else {
		_, err = b.ec2.StopInstances(ctx, &ec2.StopInstancesInput{InstanceIds: []string{id}})
	}
	return err
}

func (b *Booter) stopAll(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.machines {
		if b.t.Failed() {
			b.t.Logf("console of %s:\n%s", r.id, r.console)
			b.t.Logf("journal of %s:\n%s", r.id, r.journal(ctx))
		}
		if !r.dead {
			if err := r.stop(ctx); err != nil {
				b.t.Error(err)
			}
		}
	}
}

// Console is what a machine has written to its terminal so far.
func (b *Booter) Console(id string) string {
	if r := b.get(id); r != nil {
		return r.console.String()
	}
	return ""
}

// Running are the machines that run.
func (b *Booter) Running() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, r := range b.machines {
		if !r.dead && !r.poweredOff {
			ids = append(ids, id)
		}
	}
	return ids
}

// Command is a program inside of a machine that runs.
func (b *Booter) Command(ctx context.Context, id, name string, args ...string) (*exec.Cmd, error) {
	r := b.get(id)
	if r == nil || !slices.Contains(b.Running(), id) {
		return nil, fmt.Errorf("%s does not run", id)
	}
	return r.command(ctx, name, args...)
}

// userData is what a machine boots from.
func (b *Booter) userData(ctx context.Context, id string) ([]byte, error) {
	out, err := b.ec2.DescribeInstanceAttribute(ctx, &ec2.DescribeInstanceAttributeInput{InstanceId: &id, Attribute: types.InstanceAttributeNameUserData})
	if err != nil || out.UserData == nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(aws.ToString(out.UserData.Value))
}
