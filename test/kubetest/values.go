package kubetest

// Values are flags for an installation that is small, of images that the node has,
// and what a test adds as key=value.
func Values(more ...string) []string {
	var args []string
	for _, v := range append([]string{
		"imageRegistry=", "maxSlotsPerPod=2", "defaultImages.postgreSQL=" + PostgresImage,
		"defaultImages.cpuImage=" + TaskImage, "defaultImages.gpuImage=" + TaskImage,
		"masterCpuRequest=50m", "masterMemRequest=64Mi",
	}, more...) {
		args = append(args, "--set", v)
	}
	return args
}
