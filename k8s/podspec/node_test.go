package podspec_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/det-deploy/det-deploy/k8s/podspec"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
	"github.com/det-deploy/det-deploy/test/kubetest"
	"github.com/det-deploy/det-deploy/test/rest"
)

// sentFiles returns a user's files as the master stores them.
func sentFiles(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	content := "hello from the context\n"
	if err := w.WriteHeader(&tar.Header{Name: "src/hello.txt", Typeflag: tar.TypeReg, Mode: 0o640, Size: int64(len(content))}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return `{"b64Tgz":"` + base64.StdEncoding.EncodeToString(b.Bytes()) + `"}`
}

// lookAround prints the environment of a task.
const lookAround = `echo "rank=$JOB_COMPLETION_INDEX container=$DET_CONTAINER_ID resources=$DET_RESOURCES_ID"
echo "agent=$DET_AGENT_ID hook=$HOOK mine=$MINE slots=$DET_SLOT_IDS gpus=$NVIDIA_VISIBLE_DEVICES master=$DET_MASTER"
echo "id=$(id -u):$(id -g) pwd=$(pwd) context=$(cat src/hello.txt)"
stat -c '%n %a %u:%g' /run/determined /run/determined/info /run/determined/workdir /run/determined/etc/passwd src/hello.txt
touch written && echo "shm=$(df -k /dev/shm | tail -1 | cut -c1-5)"
exit $((7 + JOB_COMPLETION_INDEX))`

func TestPodEnvironmentMatchesAgentContainer(t *testing.T) {
	rest.Only(t)
	t.Parallel()
	k := kubetest.Start(t, kubetest.Options{Mode: kubetest.Node})
	image, _ := k.Master("podspec")
	k.LoadImage(k.Task(), image)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", net.JoinHostPort(k.HostIP, "0"))
	if err != nil {
		t.Fatal(err)
	}
	answer := sentFiles(t)
	master := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Grpc-Metadata-x-allocation-token") != "Bearer session-secret" {
			http.Error(w, `{"error":{"reason":"this token belongs to another task"}}`, http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, answer)
	}))
	master.Listener = listener
	master.Start()
	defer master.Close()
	of := template()
	of.Image, of.SlotType, of.MaxSlotsPerPod, of.SlotCPU = "det-deploy:podspec", podspec.CPU, 1, 0.1
	of.Master = podspec.Master{Scheme: "http", Host: k.HostIP, Port: listener.Addr().(*net.TCPAddr).Port}
	edit := func(s *agentv1.Spec) {
		s.Image, s.Context, s.Entrypoint, s.StartupHook = kubetest.TaskImage, true, []string{"/bin/sh", "-c", lookAround}, "export HOOK='$(x) $$'"
		s.User = &agentv1.User{Name: "lea", Uid: 1000, Group: "lea", Gid: 1001}
		for _, f := range s.Files {
			f.Uid, f.Gid = 1000, 1001
		}
		s.Files = append(s.Files,
			&apiv1.File{Path: "/run/determined/etc", Type: '5', Mode: 0o755},
			&apiv1.File{Path: "/run/determined/etc/passwd", Type: '0', Mode: 0o644, Content: []byte(passwd)})
		s.ShmSize = 64 << 20
	}
	t.Run("a gang of two as another user than root", func(t *testing.T) { looksAround(t, k.For(t), request(2, of, edit)) })
	t.Run("a token that the master refuses", func(t *testing.T) {
		r := request(0, of, edit, func(s *agentv1.Spec) { s.SessionToken = "another" })
		r.Attempt = 2
		pods := run(t, k.For(t), r, 1, corev1.PodFailed)
		got := pods[0].Status.InitContainerStatuses[0].State.Terminated.Message
		if !strings.Contains(got, "the master answers 403 Forbidden") || !strings.Contains(got, "this token belongs to another task") {
			t.Errorf("got %q, want the master's error", got)
		}
	})
}

func looksAround(t *testing.T, k *kubetest.Cluster, r podspec.Request) {
	for _, p := range run(t, k, r, 2, corev1.PodFailed) {
		rank, _ := podspec.RankOf(&p)
		id := podspec.ContainerID(allocation, rank)
		if code := p.Status.ContainerStatuses[0].State.Terminated.ExitCode; int(code) != 7+rank {
			t.Errorf("rank %d ended with %d, want %d", rank, code, 7+rank)
		}
		got := k.Kubectl("logs", p.Name)
		for _, want := range []string{
			fmt.Sprintf("rank=%d container=%s resources=%s\n", rank, id, id),
			"agent=" + p.Spec.NodeName + " hook=$(x) $$ mine=a $(b) slots=[0] gpus=void master=" + "http://" + k.HostIP,
			"id=1000:1001 pwd=/run/determined/workdir context=hello from the context\n",
			"/run/determined 700 1000:1001\n", "/run/determined/info 755 1000:1001\n", "/run/determined/workdir 700 1000:1001\n",
			"/run/determined/etc/passwd 644 1000:1001\n", "src/hello.txt 640 1000:1001\n", "shm=tmpfs\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("rank %d: got\n%s\nwant %q in it", rank, got, want)
			}
		}
	}
}

// run creates and opens a gang, and waits until all its pods have finished.
func run(t *testing.T, k *kubetest.Cluster, r podspec.Request, n int, end corev1.PodPhase) []corev1.Pod {
	t.Helper()
	o, err := podspec.Build(r)
	if err != nil {
		t.Fatal(err)
	}
	client := k.Client()
	job, err := client.BatchV1().Jobs("default").Create(t.Context(), o.Job, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range o.Secrets {
		podspec.Own(job, s)
		if _, err := client.CoreV1().Secrets("default").Create(t.Context(), s, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var list *corev1.PodList
	pods := client.CoreV1().Pods("default")
	k.Await("the end of "+job.Name, func() error {
		var err error
		list, err = pods.List(t.Context(), metav1.ListOptions{LabelSelector: "job-name=" + job.Name})
		if err != nil {
			return err
		}
		if len(list.Items) != n {
			return fmt.Errorf("there are %d pods", len(list.Items))
		}
		for _, p := range list.Items {
			if podspec.Gated(&p) {
				patch, err := podspec.OpenPatch(&p, r.Allocation, "")
				if err != nil {
					return err
				}
				if _, err := pods.Patch(t.Context(), p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
					return err
				}
			}
			if p.Status.Phase != end {
				return fmt.Errorf("%s is %s", p.Name, p.Status.Phase)
			}
		}
		return nil
	})
	return list.Items
}
