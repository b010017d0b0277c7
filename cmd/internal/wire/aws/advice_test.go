package aws

import (
	"errors"
	"strings"
	"testing"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

// Every type that the form offers works. With the stock image, it offers only types with a driver.
func TestFormOmitsGPUsWithoutDriver(t *testing.T) {
	t.Parallel()
	a := newAdvice(facts.Facts{Clients: awstest.New(awstest.Options{}).Clients(nil)})
	for stock, want := range map[bool]int{true: 0, false: 3} {
		choices, err := a.GPUTypes(t.Context(), stock)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, c := range choices {
			for _, bad := range []string{"g4ad.", "p3.", "dl1."} {
				if strings.HasPrefix(c.Value, bad) {
					n++
				}
			}
		}
		if n != want || len(choices) < 4 {
			t.Errorf("stock image %t: got %d without a driver among %v, want %d", stock, n, choices, want)
		}
	}
	if err := a.Offered(t.Context(), "g4ad.xlarge", true); err == nil || !strings.Contains(err.Error(), "AMD") {
		t.Errorf("got %v, want g4ad.xlarge refused for its GPUs", err)
	}
	if err := a.Offered(t.Context(), "g4ad.xlarge", false); err != nil {
		t.Error(err)
	}
}

func TestEveryRegionHasItsPlace(t *testing.T) {
	t.Parallel()
	regions, err := facts.Facts{Clients: awstest.New(awstest.Options{}).Clients(nil)}.Regions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range regions {
		if facts.PlaceOf(r) == "" {
			t.Errorf("got no place of %s", r)
		}
	}
}

// What the form has listed, or asked for once, it does not ask for again.
func TestFormMakesNoCallTwice(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	a := newAdvice(facts.Facts{Clients: w.Clients(nil)})
	if _, err := a.GPUTypes(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	listed := w.Calls()
	for range 2 {
		if err := errors.Join(a.Offered(t.Context(), "g5.xlarge", true), a.Room(t.Context(), "g5.xlarge", 1)); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.Calls() - listed; n != 1 {
		t.Errorf("got %d calls, want one, for the quota", n)
	}
}
