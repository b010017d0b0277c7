package fleet

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"google.golang.org/api/compute/v1"

	"github.com/det-deploy/det-deploy/cloud/gcp/properties"
)

// Google's limits for the configuration of a pool.
const (
	scriptLimit = 256 << 10 // bytes per metadata value
	labelsLimit = 64        // per resource
	prefixLimit = 40        // characters, which leaves room for a hash in a name
)

var prefixForm = regexp.MustCompile(`^[a-z][-a-z0-9]*$`)

func (c Config) checkFields(base *compute.InstanceProperties) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Cluster != "", "the cluster ID is required to identify its machines")
	check(c.Pool != "", "the pool name is required to identify its machines")
	check(c.Image != "", "provider.boot_disk_source_image: must be set to the agents' image")
	check(len(c.Zones) > 0, "provider.zone: must be set")
	check(c.Pair.Key != "" && c.Pair.Value != "", "provider.label_key, provider.label_value: must both be set")
	check((c.Network == "") == (c.Subnetwork == ""), "provider.network_interface: must have both network and subnetwork, or neither")
	check(len(c.StartupScript) <= scriptLimit, "the startup script has %d bytes, the maximum is %d", len(c.StartupScript), scriptLimit)
	check(c.NamePrefix == "" || prefixForm.MatchString(c.NamePrefix) && len(c.NamePrefix) <= prefixLimit,
		"provider.name_prefix: must begin with a lowercase letter and have at most %d lowercase letters, digits and dashes (is %q)", prefixLimit, c.NamePrefix)
	return errors.Join(append(errs, c.checkLabels(base), c.checkBase(base))...)
}

func (c Config) checkLabels(base *compute.InstanceProperties) error {
	var errs []error
	all := c.allLabels(base, "")
	delete(all, "") // a missing pair is already reported
	for key, value := range all {
		errs = append(errs, properties.CheckLabel(key, value))
	}
	for _, key := range properties.ReservedLabels() {
		if _, given := c.Labels[key]; given || c.Pair.Key == key {
			errs = append(errs, fmt.Errorf("label %s is reserved", key))
		}
	}
	if len(all) > labelsLimit {
		errs = append(errs, fmt.Errorf("instances would have %d labels, the maximum is %d", len(all), labelsLimit))
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// checkBase returns errors for fields of base_config that conflict with the other settings.
func (c Config) checkBase(base *compute.InstanceProperties) error {
	var errs []error
	for _, p := range properties.Conflicts(base, properties.Pool{Zones: c.Zones, Account: c.Account, Spot: c.Spot}) {
		p.Path = "provider.base_config." + p.Path
		errs = append(errs, errors.New(p.String()))
	}
	return errors.Join(errs...)
}
