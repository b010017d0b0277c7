package kubetest

// Values returns flags for a small installation with images of the node, and the test's own
// key=value settings.
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
