package checks

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/det-deploy/det-deploy/cloud/aws/facts"
	"github.com/det-deploy/det-deploy/installer/doctor"
	"github.com/det-deploy/det-deploy/installer/hosted/machines"
)

// checkDrivers compares the GPUs of each pool that uses the stock image with the driver of that
// image. A machine joins without slots if its GPUs have no driver.
func (c *checker) checkDrivers(ctx context.Context) doctor.Result {
	const needed = "GPUs that the driver of the stock image supports"
	var wrong, odd, fixes []string
	for _, name := range slices.Sorted(maps.Keys(c.Spec.AllPools())) {
		p := c.Spec.AllPools()[name]
		if p.Image != "" || c.Spec.Agents.Image != "" {
			continue
		}
		for _, it := range p.InstanceTypes {
			switch fit, why := facts.AgentStock().Fit(factOf(it, c.Known.Types[it])); fit {
			case facts.FitsNot:
				wrong = append(wrong, fmt.Sprintf("pool %s: %s", name, why))
				fixes = append(fixes, c.facts.SmallestFitting(ctx, facts.AgentStock(), c.Known.Types[it].GPUs, c.PoolZones(p)))
			case facts.FitsMay:
				odd = append(odd, fmt.Sprintf("pool %s: %s", name, why))
			case facts.Fits:
			}
		}
	}
	fixes = slices.DeleteFunc(slices.Compact(fixes), func(s string) bool { return s == "" })
	switch {
	case len(wrong) > 0:
		fix := "choose another --instance-type, or use an image with a driver with --agent-image"
		if len(fixes) > 0 {
			fix = "choose another --instance-type, such as " + strings.Join(fixes, " or ") + ", or use an image with a driver with --agent-image"
		}
		return c.FailNew(ctx, strings.Join(append(wrong, odd...), "; "), needed, fix)
	case len(odd) > 0:
		return doctor.Unsure(strings.Join(odd, "; "), needed, "try one machine, or use an image with a driver with --agent-image")
	}
	return doctor.Passed("the images support the GPUs of all pools")
}

// factOf converts an instance type as described by EC2.
func factOf(name string, t machines.Type) facts.Type {
	return facts.Type{Name: name, VCPU: t.VCPU, GPUs: t.GPUs, GPU: t.GPU, Maker: t.Maker, Memory: t.Memory, Architectures: t.Architectures}
}
