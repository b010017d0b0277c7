package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	plugin "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"
)

// ServeGPUs serves a device plugin that offers devices named nvidia.com/gpu without hardware. A
// container that requests one finds its devices in NVIDIA_VISIBLE_DEVICES. Counting, scheduling and
// exclusive assignment are done by the real kubelet.
func (l *Lab) ServeGPUs(ctx context.Context, count int) error {
	// A kubelet empties the directory of plugins before it listens there; until then it may contain
	// the socket of an earlier kubelet.
	err := l.await(ctx, wait{what: "the kubelet", limit: time.Minute}, func() error { return answers(ctx, plugin.KubeletSocket) })
	if err != nil {
		return err
	}
	name := fmt.Sprintf("kubelab-gpu%d.sock", l.ID)
	socket := filepath.Join(plugin.DevicePluginPath, name)
	if err := os.Remove(socket); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	defer server.Stop()
	plugin.RegisterDevicePluginServer(server, newGPUs(ctx, count))
	go server.Serve(listener) //nolint:errcheck // it ends when it is stopped
	err = l.await(ctx, wait{what: "the kubelet to take the devices", limit: time.Minute}, func() error { return register(ctx, name) })
	if err != nil {
		return err
	}
	<-ctx.Done()
	return nil
}

// answers returns an error unless a process listens on the socket.
func answers(ctx context.Context, socket string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	return conn.Close()
}

func register(ctx context.Context, endpoint string) (err error) {
	conn, err := grpc.NewClient("unix://"+plugin.KubeletSocket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	_, err = plugin.NewRegistrationClient(conn).Register(ctx, &plugin.RegisterRequest{
		Version: plugin.Version, Endpoint: endpoint, ResourceName: gpuResource,
	})
	return err
}

type gpus struct {
	plugin.UnimplementedDevicePluginServer
	devices []*plugin.Device
	done    <-chan struct{}
}

func newGPUs(ctx context.Context, count int) *gpus {
	g := &gpus{done: ctx.Done()}
	for i := range count {
		g.devices = append(g.devices, &plugin.Device{ID: fmt.Sprintf("GPU-fake-%d", i), Health: plugin.Healthy})
	}
	return g
}

// GetDevicePluginOptions returns no options.
func (g *gpus) GetDevicePluginOptions(context.Context, *plugin.Empty) (*plugin.DevicePluginOptions, error) {
	return &plugin.DevicePluginOptions{}, nil
}

// ListAndWatch sends the devices once; they never change.
func (g *gpus) ListAndWatch(_ *plugin.Empty, s grpc.ServerStreamingServer[plugin.ListAndWatchResponse]) error {
	if err := s.Send(&plugin.ListAndWatchResponse{Devices: g.devices}); err != nil {
		return err
	}
	select {
	case <-g.done:
	case <-s.Context().Done():
	}
	return nil
}

// Allocate returns the environment variable that lists a container's devices.
func (g *gpus) Allocate(_ context.Context, r *plugin.AllocateRequest) (*plugin.AllocateResponse, error) {
	out := new(plugin.AllocateResponse)
	for _, c := range r.ContainerRequests {
		out.ContainerResponses = append(out.ContainerResponses, &plugin.ContainerAllocateResponse{
			Envs: map[string]string{"NVIDIA_VISIBLE_DEVICES": strings.Join(c.DevicesIds, ",")},
		})
	}
	return out, nil
}
