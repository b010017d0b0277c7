package awstest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
	"github.com/det-deploy/det-deploy/cloud/aws/api"
	"github.com/det-deploy/det-deploy/cloud/resource"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
	"github.com/det-deploy/det-deploy/test/fake/cloud/faults"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// get returns a function that fails the test if a call returns an error.
func get[T any](t *testing.T) func(v T, err error) T {
	return func(v T, err error) T {
		t.Helper()
		must(t, err)
		return v
	}
}

func wantKind(t *testing.T, err error, want cloud.Kind) {
	t.Helper()
	if got := cloud.KindOf(err); got != want {
		t.Errorf("got %q of %v, want %q", got, err, want)
	}
}

// Every call of the interfaces is implemented, also in an empty world.
func TestEveryCallIsImplemented(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	clients := reflect.ValueOf(w.Clients(nil))
	for i := range clients.NumField() {
		service := clients.Field(i)
		if service.Kind() != reflect.Interface {
			continue
		}
		for m := range service.Type().Methods() {
			in := reflect.New(m.Type.In(1).Elem())
			awstest.Sample(in.Interface())
			out := service.MethodByName(m.Name).Call([]reflect.Value{reflect.ValueOf(t.Context()), in})
			if err, ok := out[1].Interface().(error); ok && strings.Contains(err.Error(), "NotImplemented") {
				t.Errorf("%s.%s: got %v, want that the world knows the call", service.Type().Name(), m.Name, err)
			}
		}
	}
	seen := make(map[string]bool)
	for _, e := range w.Journal() {
		seen[e.Op] = true
	}
	for _, c := range api.Calls() {
		if !seen[c.Op] {
			t.Errorf("%s never reached the world", c.Op)
		}
	}
}

func network(ctx context.Context, c api.Clients) (string, error) {
	out, err := c.EC2.CreateVpc(ctx, &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16")})
	if err != nil {
		return "", err
	}
	return *out.Vpc.VpcId, nil
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		fault faults.Fault
		kind  cloud.Kind
		made  int
		tries int
	}{
		{faults.Refuse, cloud.Invalid, 0, 1},
		{faults.Throttle, cloud.RateLimited, 0, api.Attempts},
		{faults.ThrottleOnce, "", 1, 2},
		{faults.Break, cloud.Ambiguous, 0, 1},
		{faults.LoseRequest, cloud.Ambiguous, 0, 1},
		{faults.LoseReply, cloud.Ambiguous, 1, 1},
		{faults.KillBefore, cloud.Ambiguous, 0, 1},
		{faults.KillAfter, cloud.Ambiguous, 1, 1},
		{faults.Stale, "", 1, 1},
	} {
		t.Run(string(tc.fault), func(t *testing.T) {
			t.Parallel()
			w := awstest.New(awstest.Options{})
			w.FailAt(1, tc.fault)
			_, err := network(t.Context(), w.Clients(nil))
			wantKind(t, err, tc.kind)
			if err != nil && !errors.Is(err, faults.ErrInjected) {
				t.Errorf("got %v, want that it was injected", err)
			}
			if got := len(w.Live()); got != tc.made {
				t.Errorf("got %d networks, want %d", got, tc.made)
			}
			if got := len(w.Journal()); got != tc.tries {
				t.Errorf("got %d attempts, want %d", got, tc.tries)
			}
		})
	}
}

func TestKilledProcessMakesNoCalls(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	c := w.Clients(nil)
	w.FailChange(1, faults.KillAfter)
	_, err := network(t.Context(), c)
	if !errors.Is(err, faults.ErrKilled) {
		t.Errorf("got %v, want %v", err, faults.ErrKilled)
	}
	_, err = c.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})
	if !errors.Is(err, faults.ErrKilled) {
		t.Errorf("afterwards: got %v, want %v", err, faults.ErrKilled)
	}
	w.Revive()
	_, err = network(t.Context(), c)
	must(t, err)
	if got := len(w.Live()); got != 2 {
		t.Errorf("got %v, want both networks", w.Live())
	}
}

func TestFaultsByOperation(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	w.FailOp("ec2:CreateVpc", "", faults.Refuse)
	for i, want := range []cloud.Kind{"", cloud.Invalid, ""} {
		_, err := network(t.Context(), w.Clients(nil))
		if got := cloud.KindOf(err); got != want {
			t.Errorf("call %d: got %q, want %q", i+1, got, want)
		}
	}
}

func TestGateRejectsCallsBeforeWorld(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	_, err := network(t.Context(), w.Clients(new(resource.Gate)))
	if !errors.Is(err, resource.ErrReadOnly) || len(w.Journal()) != 0 {
		t.Errorf("got %v and %v, want a shut gate and no call", err, w.Journal())
	}
}

func TestListLag(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{Lag: 10 * time.Second, NoDefaultVPC: true})
	c := w.Clients(nil)
	count := func() int {
		return len(get[*ec2.DescribeVpcsOutput](t)(c.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})).Vpcs)
	}
	id := get[string](t)(network(t.Context(), c))
	if got := count(); got != 0 {
		t.Errorf("at once: got %d, want 0", got)
	}
	w.Advance(10 * time.Second)
	if got := count(); got != 1 {
		t.Errorf("later: got %d, want 1", got)
	}
	get[*ec2.DeleteVpcOutput](t)(c.EC2.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: &id}))
	if got := count(); got != 1 {
		t.Errorf("deleted, at once: got %d, want 1", got)
	}
	w.Advance(10 * time.Second)
	if got := count(); got != 0 {
		t.Errorf("deleted, later: got %d, want 0", got)
	}
}

func TestStaleListOmitsLatestChange(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{NoDefaultVPC: true})
	c := w.Clients(nil)
	for range 2 {
		get[string](t)(network(t.Context(), c))
	}
	w.FailAt(3, faults.Stale)
	for _, want := range []int{1, 2} {
		if got := len(get[*ec2.DescribeVpcsOutput](t)(c.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{})).Vpcs); got != want {
			t.Errorf("got %d, want %d", got, want)
		}
	}
}

func TestNewObjectsAreInvisibleAtFirst(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{Shy: 2})
	c := w.Clients(nil)
	id := get[string](t)(network(t.Context(), c))
	for i, want := range []cloud.Kind{cloud.NotFound, cloud.NotFound, ""} {
		_, err := c.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{VpcIds: []string{id}})
		if got := cloud.KindOf(err); got != want {
			t.Errorf("look %d: got %q, want %q", i+1, got, want)
		}
	}
}

func TestPageSize(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{NoDefaultVPC: true, Page: 2})
	c := w.Clients(nil)
	for range 5 {
		get[string](t)(network(t.Context(), c))
	}
	var sizes []int
	p := ec2.NewDescribeVpcsPaginator(c.EC2, &ec2.DescribeVpcsInput{})
	for p.HasMorePages() {
		sizes = append(sizes, len(get[*ec2.DescribeVpcsOutput](t)(p.NextPage(t.Context())).Vpcs))
	}
	if !slices.Equal(sizes, []int{2, 2, 1}) {
		t.Errorf("got pages of %v, want 2, 2, 1", sizes)
	}
}

func TestDeniedActions(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	w.Deny("ec2:Create*")
	_, err := w.Clients(nil).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), DryRun: aws.Bool(true)})
	wantKind(t, api.Allowed(err), cloud.Denied)
	w.Allow()
	_, err = w.Clients(nil).EC2.CreateVpc(t.Context(), &ec2.CreateVpcInput{CidrBlock: aws.String("10.0.0.0/16"), DryRun: aws.Bool(true)})
	must(t, api.Allowed(err))
	if got := w.Live(); len(got) != 0 {
		t.Errorf("asking made %v, want nothing", got)
	}
}

func TestRegionsAreIsolated(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{NoDefaultVPC: true})
	get[string](t)(network(t.Context(), w.Clients(nil)))
	out := get[*ec2.DescribeVpcsOutput](t)(w.ClientsIn("eu-west-1", nil).EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{}))
	if len(out.Vpcs) != 0 {
		t.Errorf("got %d networks in another region, want none", len(out.Vpcs))
	}
}

func TestUnknownFilterIsRejected(t *testing.T) {
	t.Parallel()
	c := awstest.New(awstest.Options{}).Clients(nil)
	_, err := c.EC2.DescribeVpcs(t.Context(), &ec2.DescribeVpcsInput{Filters: []types.Filter{{Name: aws.String("colour"), Values: []string{"red"}}}})
	wantKind(t, err, cloud.Invalid)
	if want := "ec2:DescribeVpcs: The filter 'colour' is invalid (InvalidParameterValue)"; fmt.Sprint(err) != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
