package hosted

import (
	"maps"
	"slices"

	"github.com/det-deploy/det-deploy/cloud/host/manifest"
	"github.com/det-deploy/det-deploy/cloud/resource"
)

// compareRecorded returns the settings whose recorded values differ. They are those that were given: one
// that is given for the first time differs even if it has the value that applied before. The values are
// not shown, because scripts can contain secrets.
func compareRecorded(have, want map[string]string) []resource.Drift {
	all := make(map[string]string, len(have)+len(want))
	maps.Copy(all, have)
	maps.Copy(all, want)
	var out []resource.Drift
	for _, key := range slices.Sorted(maps.Keys(all)) {
		a, had := have[key]
		b, has := want[key]
		d := resource.Drift{Path: "settings." + key, Have: "outdated", Want: "current", Digest: a + "\n" + b}
		switch {
		case had == has && a == b:
			continue
		case !had:
			d.Have, d.Want = "absent", "present"
		case !has:
			d.Have, d.Want = "present", "absent"
		}
		out = append(out, d)
	}
	return out
}

// describeFiles replaces the difference of master.yaml by those of its keys, if there are any.
func describeFiles(files, keys []resource.Drift) []resource.Drift {
	i := slices.IndexFunc(files, func(d resource.Drift) bool { return d.Path == manifest.ConfigFile })
	if i < 0 || len(keys) == 0 {
		return files
	}
	keys = slices.Clone(keys)
	keys[0].Digest = files[i].Digest
	return slices.Replace(files, i, i+1, keys...)
}
