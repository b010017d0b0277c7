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

// Google's limits on what a pool is configured with.
const (
	scriptLimit = 256 << 10 // bytes of one value of a machine's metadata
	labelsLimit = 64        // a resource
	prefixLimit = 40        // characters, so that a name has room for its hash
)

var (
	prefixForm = regexp.MustCompile(`^[a-z][-a-z0-9]*$`)
	keyForm    = regexp.MustCompile(`^[\p{Ll}\p{Lo}][-_\p{Ll}\p{Lo}\p{N}]{0,62}$`)
	valueForm  = regexp.MustCompile(`^[-_\p{Ll}\p{Lo}\p{N}]{0,63}$`)
)

func (c Config) checkFields(base *compute.InstanceProperties) error {
	var errs []error
	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	check(c.Cluster != "", "the cluster's id is needed to tell its machines from others'")
	check(c.Pool != "", "the pool's name is needed to tell its machines from others'")
	check(c.Image != "", "provider.boot_disk_source_image: name the image that agents start from")
	check(len(c.Zones) > 0, "provider.zone: name a zone in which machines may be")
	check(c.Pair.Key != "" && c.Pair.Value != "", "provider.label_key, provider.label_value: both are needed to mark the machines")
	check((c.Network == "") == (c.Subnetwork == ""), "provider.network_interface: needs both network and subnetwork, or neither")
	check(len(c.StartupScript) <= scriptLimit, "the startup script has %d bytes and Google takes %d", len(c.StartupScript), scriptLimit)
	check(c.NamePrefix == "" || prefixForm.MatchString(c.NamePrefix) && len(c.NamePrefix) <= prefixLimit,
		"provider.name_prefix: must begin with a small letter, have only small letters, digits and dashes, and at most %d characters (is %q)", prefixLimit, c.NamePrefix)
	return errors.Join(append(errs, c.checkLabels(base), c.checkBase(base))...)
}

func (c Config) checkLabels(base *compute.InstanceProperties) error {
	var errs []error
	all := c.allLabels(base, "")
	delete(all, "") // a pair that is not given is refused already
	for key, value := range all {
		if !keyForm.MatchString(key) || !valueForm.MatchString(value) {
			errs = append(errs, fmt.Errorf("label %s=%s: Google takes small letters, digits, dashes and underscores, at most 63, and a letter first in a key", key, value))
		}
	}
	for _, key := range ownLabels() {
		_, given := c.Labels[key]
		_, inBase := base.Labels[key]
		if given || inBase || c.Pair.Key == key {
			errs = append(errs, fmt.Errorf("label %s is given, and is one that machines get anyway", key))
		}
	}
	if len(all) > labelsLimit {
		errs = append(errs, fmt.Errorf("machines would get %d labels and Google takes %d", len(all), labelsLimit))
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// checkBase refuses what of base_config contradicts the other settings, where it is not
// plain that these win.
func (c Config) checkBase(base *compute.InstanceProperties) error {
	var errs []error
	refuse := func(at, format string, args ...any) {
		errs = append(errs, fmt.Errorf("provider.base_config."+at+": "+format, args...))
	}
	for i, item := range metadataOf(base) {
		if slices.Contains(ownMetadata(), item.Key) {
			refuse(fmt.Sprintf("metadata.items[%d]", i), "%s is one that machines get anyway; write what machines are to run into provider.startup_script", item.Key)
		}
	}
	for _, zone := range properties.Zones(base) {
		for _, other := range c.Zones {
			if other != zone {
				refuse("disks", "are in zone %s, so that machines cannot be in %s; name only %s as the pool's zone", zone, other, zone)
			}
		}
	}
	if len(mergeAccounts(c, base)) > 1 {
		refuse("serviceAccounts", "Google gives a machine one service account; name it here or in provider.service_account")
	}
	if isSpot(base.Scheduling) && !c.Spot {
		refuse("scheduling", "spot machines are a setting of the pool; set provider.spot")
	}
	return errors.Join(errs...)
}
