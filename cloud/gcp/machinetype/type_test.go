package machinetype_test

import (
	"testing"

	"github.com/det-deploy/det-deploy/cloud/gcp/machinetype"
)

func TestIncludedGPUsAndBootDisks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text  string
		gpus  int64
		known bool
		gpu   string
		disk  string
	}{
		{"n1-standard-8+4xnvidia-tesla-t4", 0, true, "", "pd-standard"},
		{"custom-8-32768+1xnvidia-tesla-p4", 0, true, "", "pd-standard"},
		{"e2-medium", 0, true, "", "pd-standard"},
		{"n2-custom-8-32768-ext", 0, true, "", "pd-standard"},
		{"c3-standard-4", 0, true, "", "pd-balanced"},
		{"n4-standard-4", 0, true, "", "hyperdisk-balanced"},
		{"a2-highgpu-8g", 8, true, "nvidia-tesla-a100", "pd-standard"},
		{"a2-ultragpu-4g", 4, true, "nvidia-a100-80gb", "pd-standard"},
		{"a2-megagpu-16g", 16, true, "nvidia-tesla-a100", "pd-standard"},
		{"a3-highgpu-8g", 8, true, "nvidia-h100-80gb", "pd-balanced"},
		{"a3-ultragpu-8g", 8, true, "nvidia-h200-141gb", "hyperdisk-balanced"},
		{"a4-highgpu-8g", 8, true, "", "hyperdisk-balanced"},
		{"g2-standard-32", 1, true, "nvidia-l4", "pd-balanced"},
		{"g2-standard-96", 8, true, "nvidia-l4", "pd-balanced"},
		{"g4-standard-192", 4, true, "", "hyperdisk-balanced"},
		{"g4-standard-999", 0, false, "", "hyperdisk-balanced"},
	} {
		m, err := machinetype.Parse(tc.text)
		if err != nil {
			t.Errorf("%s: %v", tc.text, err)
			continue
		}
		gpus, known := m.BroughtGPUs()
		gpu, _ := m.BroughtType()
		if gpus != tc.gpus || known != tc.known || gpu != tc.gpu || m.BootDiskType() != tc.disk || m.String() != tc.text {
			t.Errorf("%s: got %d (%t) of %q, a disk %s, and %s", tc.text, gpus, known, gpu, m.BootDiskType(), m)
		}
	}
	for _, text := range []string{"", "big", "N1-standard-4", "e2-medium+1xnvidia-tesla-t4", "n1-standard-8+0xnvidia-tesla-t4", "n1-standard-8+nvidia-tesla-t4"} {
		if _, err := machinetype.Parse(text); err == nil {
			t.Errorf("%q: got no error", text)
		}
	}
}
