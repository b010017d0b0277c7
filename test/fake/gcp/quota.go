package gcptest

import (
	"fmt"
	"strings"

	"google.golang.org/api/compute/v1"
)

// projectQuotas returns the quotas of a new project, by the metrics of projects.get.
// https://cloud.google.com/compute/resource-usage
func projectQuotas() map[string]float64 {
	return map[string]float64{
		"NETWORKS": 15, "SUBNETWORKS": 175, "FIREWALLS": 200, "ROUTERS": 20, "SNAPSHOTS": 5000, "IMAGES": 2000,
		"CPUS_ALL_REGIONS": 512, "GPUS_ALL_REGIONS": 64,
	}
}

// regionQuotas returns the quotas of each region, by the metrics of regions.get. Google publishes
// none for on-demand H100 GPUs.
func regionQuotas() map[string]float64 {
	out := map[string]float64{
		"INSTANCES": 6000, "STATIC_ADDRESSES": 21, "IN_USE_ADDRESSES": 69, "DISKS_TOTAL_GB": 81920, "SSD_TOTAL_GB": 40960,
		"CPUS": 500, "PREEMPTIBLE_CPUS": 500, "N2_CPUS": 500, "N2D_CPUS": 500, "E2_CPUS": 500, "C2_CPUS": 300, "C3_CPUS": 300, "A2_CPUS": 288,
		"PREEMPTIBLE_NVIDIA_H100_GPUS": 16,
	}
	for _, metric := range gpuMetrics() {
		out[metric], out["PREEMPTIBLE_"+metric] = 32, 32
	}
	return out
}

// checkQuota returns an error if one more object would exceed a quota.
// https://cloud.google.com/compute/quotas
func (c *call) checkQuota(path, metric string, more float64) error {
	limit, usage := c.quotaOf(path, metric)
	if usage+more > limit {
		return refuse(403, "quotaExceeded", "Quota '%s' exceeded.  Limit: %.1f in region %s.", metric, limit, orElse(placeOf(path), "global"))
	}
	return nil
}

// quotaOf returns the limit and the usage of a metric in the scope of a path.
func (w *World) quotaOf(path, metric string) (limit, usage float64) {
	parts := strings.Split(path, "/")
	p := w.findProject(parts[1])
	if limit, found := p.quotas[metric]; found {
		return limit, w.usage("projects/"+p.id+"/", "")[metric]
	}
	place := placeOf(path)
	if parts[2] == "zones" {
		place = regionOf(place)
	}
	limit, found := p.regional[metric]
	if !found {
		return 1e9, 0
	}
	return limit, w.usage("projects/"+p.id+"/", place)[metric]
}

// usage returns the usage in a region, or in the whole project if the region is empty.
func (w *World) usage(prefix, region string) map[string]float64 {
	out := make(map[string]float64)
	here := func(path string) bool {
		place := placeOf(path)
		return strings.HasPrefix(path, prefix) && (region == "" || place == region || strings.HasPrefix(place, region+"-"))
	}
	if region == "" {
		count(out, "NETWORKS", &w.engine.networks, here)
		count(out, "SUBNETWORKS", &w.engine.subnetworks, here)
		count(out, "FIREWALLS", &w.engine.firewalls, here)
		count(out, "ROUTERS", &w.engine.routers, here)
		count(out, "SNAPSHOTS", &w.engine.snapshots, here)
	}
	count(out, "STATIC_ADDRESSES", &w.engine.addresses, here)
	for path, d := range w.engine.disks.all() {
		if here(path) {
			out[diskMetric(d.Type)] += float64(d.SizeGb)
		}
	}
	for path, m := range w.engine.instances.all() {
		if here(path) && m.holdsCapacity() {
			for metric, n := range m.demand() {
				out[metric] += n
			}
		}
	}
	return out
}

func count[T any](out map[string]float64, metric string, t *table[T], here func(string) bool) {
	for path := range t.all() {
		if here(path) {
			out[metric]++
		}
	}
}

func diskMetric(kind string) string {
	if strings.Contains(kind, "pd-standard") {
		return "DISKS_TOTAL_GB"
	}
	return "SSD_TOTAL_GB"
}

// exceeded returns the error of an operation that would exceed a quota.
// https://cloud.google.com/compute/resource-usage#understanding_quota_errors
func exceeded(path, metric string, limit float64) *failure {
	region := regionOf(placeOf(path))
	return &failure{
		status: 403, reason: "FORBIDDEN", code: "QUOTA_EXCEEDED",
		message: fmt.Sprintf("Quota '%s' exceeded.  Limit: %.1f in region %s.", metric, limit, region),
		details: []*compute.OperationErrorErrorsErrorDetails{{QuotaInfo: &compute.QuotaExceededInfo{
			MetricName: "compute.googleapis.com/" + strings.ToLower(metric), LimitName: metric + "-per-project-region",
			Limit: limit, Dimensions: map[string]string{"region": region},
		}}},
	}
}

// overQuota returns the error for the first quota that an instance would exceed.
func (w *World) overQuota(path string, m *machine) *failure {
	for _, metric := range sortedKeys(m.demand()) {
		if limit, usage := w.quotaOf(path, metric); usage+m.demand()[metric] > limit {
			return exceeded(path, metric, limit)
		}
	}
	return nil
}

// quotas returns the quotas in the form of regions.get and projects.get.
func (w *World) quotas(limits map[string]float64, prefix, region string) []*compute.Quota {
	used := w.usage(prefix, region)
	var out []*compute.Quota
	for _, metric := range sortedKeys(limits) {
		out = append(out, &compute.Quota{Metric: metric, Limit: limits[metric], Usage: used[metric], ForceSendFields: []string{"Usage"}})
	}
	return out
}
