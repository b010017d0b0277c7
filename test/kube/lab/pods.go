package lab

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// stopPods removes every pod through the CRI, which also removes its network. Errors are ignored:
// the remaining processes are killed with their cgroup.
func (l *Lab) stopPods(ctx context.Context) {
	if l.pid("containerd") == 0 {
		return
	}
	conn, err := grpc.NewClient("unix://"+l.path("containerd.sock"), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return
	}
	defer conn.Close() //nolint:errcheck // no more requests follow
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	runtime := cri.NewRuntimeServiceClient(conn)
	containers, err := runtime.ListContainers(ctx, new(cri.ListContainersRequest))
	if err != nil {
		return
	}
	for _, c := range containers.GetContainers() {
		runtime.StopContainer(ctx, &cri.StopContainerRequest{ContainerId: c.GetId()}) //nolint:errcheck // see above
	}
	sandboxes, err := runtime.ListPodSandbox(ctx, new(cri.ListPodSandboxRequest))
	if err != nil {
		return
	}
	for _, s := range sandboxes.GetItems() {
		runtime.StopPodSandbox(ctx, &cri.StopPodSandboxRequest{PodSandboxId: s.GetId()})     //nolint:errcheck // see above
		runtime.RemovePodSandbox(ctx, &cri.RemovePodSandboxRequest{PodSandboxId: s.GetId()}) //nolint:errcheck // see above
	}
}
