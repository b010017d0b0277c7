package podspec

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/det-deploy/det-deploy/k8s/podinit"
	"github.com/det-deploy/det-deploy/master/api/agentv1"
	apiv1 "github.com/det-deploy/det-deploy/master/api/v1"
)

// The type bytes of apiv1.File, as in a tar header.
const (
	tarFile    = '0'
	tarDir     = '5'
	tarSymlink = '2'
)

// Volumes of a task's files, and their mount paths in the init container.
const (
	volumeFiles = "determined-files"
	volumeOrder = "determined-order"
	mountFiles  = "/run/determined-files"
	mountOrder  = "/run/determined-order"
)

// root is a path of the container that is mounted from a part of the volume.
type root struct {
	// at is the path in the container, sub the one in the volume.
	at, sub string
}

// archive collects the files of a container, which the init container extracts to a volume: a part
// for /run/determined, one for a work directory elsewhere that receives the context, and one for
// each file or directory elsewhere. A directory mounted this way hides the image's content.
type archive struct {
	spec  *agentv1.Spec
	roots []root
	files []*apiv1.File
}

func newArchive(s *agentv1.Spec) *archive {
	a := &archive{spec: s, roots: []root{{runDir, "run"}}, files: slices.Clone(s.GetFiles())}
	if dir := path.Clean(s.GetWorkDir()); s.GetContext() && !isUnder(dir, runDir) {
		a.roots = append(a.roots, root{dir, "work"})
	}
	return a
}

func (a *archive) addFile(name string, content []byte, mode uint32) {
	a.files = append(a.files, &apiv1.File{Path: name, Type: tarFile, Content: content, Mode: mode})
}

// placeFile returns the path in the volume for a path of the container.
func (a *archive) placeFile(name string) (string, bool) {
	for _, r := range a.roots {
		if isUnder(name, r.at) {
			return path.Join(r.sub, strings.TrimPrefix(name, r.at)), true
		}
	}
	return "", false
}

// settlePaths adds separate mounts for files outside of the known directories.
func (a *archive) settlePaths() error {
	for _, kind := range []int32{tarDir, tarFile, tarSymlink} {
		for _, f := range a.files {
			t, name := typeOf(f), path.Clean(f.GetPath())
			if t != tarFile && t != tarDir && t != tarSymlink {
				return refuseField("files", "%s: only files, directories and symbolic links can be put into a container", name)
			}
			if _, placed := a.placeFile(name); placed || t != kind {
				continue
			}
			switch {
			case !path.IsAbs(name):
				return refuseField("files", "%s: the path must be absolute", name)
			case t == tarSymlink:
				return refuseField("files", "%s: a pod gets symbolic links only under %s and the work directory", name, runDir)
			case t == tarDir && strings.Count(name, "/") < 2:
				return refuseField("files", "%s: would hide what the image has there", name)
			}
			a.roots = append(a.roots, root{name, fmt.Sprintf("files/%d", len(a.roots))})
		}
	}
	return nil
}

func typeOf(f *apiv1.File) int32 {
	if f.GetType() == 0 {
		return tarFile
	}
	return f.GetType()
}

func isUnder(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// packFiles writes the archive. The directories above a file belong to the task's account, as with
// agents.
func (a *archive) packFiles() ([]byte, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	done := map[string]bool{}
	uid, gid := int(a.spec.GetUser().GetUid()), int(a.spec.GetUser().GetGid())
	var parents func(dir string) error
	parents = func(dir string) error {
		if dir == "." || done[dir] || strings.HasPrefix(dir, "files") {
			return nil
		}
		done[dir] = true
		if err := parents(path.Dir(dir)); err != nil {
			return err
		}
		return w.WriteHeader(&tar.Header{Name: dir + "/", Typeflag: tar.TypeDir, Mode: 0o755, Uid: uid, Gid: gid})
	}
	for _, f := range a.files {
		if name, _ := a.placeFile(path.Clean(f.GetPath())); typeOf(f) == tarDir {
			done[name] = true // written later with its own owner and mode
		}
	}
	for _, f := range a.files {
		name, _ := a.placeFile(path.Clean(f.GetPath()))
		if err := parents(path.Dir(name)); err != nil {
			return nil, err
		}
		if err := writeFile(w, f, name); err != nil {
			return nil, err
		}
	}
	for _, dir := range []string{"run", a.workDir()} {
		if dir != "" {
			if err := parents(dir); err != nil {
				return nil, err
			}
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err := z.Close()
	return b.Bytes(), err
}

// workDir returns the path of the work directory in the volume, or "" if it is elsewhere.
func (a *archive) workDir() string {
	dir, _ := a.placeFile(path.Clean(a.spec.GetWorkDir()))
	return dir
}

func writeFile(w *tar.Writer, f *apiv1.File, name string) error {
	h := &tar.Header{
		Name: name, Mode: int64(f.GetMode() & 0o777), Uid: int(f.GetUid()), Gid: int(f.GetGid()),
		Typeflag: tar.TypeReg, Size: int64(len(f.GetContent())),
	}
	if f.GetMtime() > 0 {
		h.ModTime = time.Unix(f.GetMtime(), 0)
	}
	switch typeOf(f) {
	case tarDir:
		h.Typeflag, h.Size, h.Name = tar.TypeDir, 0, name+"/"
	case tarSymlink:
		h.Typeflag, h.Size, h.Linkname, h.Mode = tar.TypeSymlink, 0, string(f.GetContent()), 0o777
	}
	if err := w.WriteHeader(h); err != nil || h.Typeflag != tar.TypeReg {
		return err
	}
	_, err := w.Write(f.GetContent())
	return err
}

// filesAndMaster adds the volume of the pod's files and the init container that fills it.
func (b *builder) filesAndMaster() error {
	m := b.request.Template.Master
	if m.Scheme == "https" && len(m.CA) > 0 && !m.NoVerify {
		b.files.addFile(certPath, m.CA, 0o644)
	}
	if hook := b.spec.GetStartupHook(); hook != "" {
		b.files.addFile(hookPath, []byte(hook), 0o755)
	}
	if err := b.files.settlePaths(); err != nil {
		return err
	}
	packed, err := b.files.packFiles()
	if err != nil {
		return fmt.Errorf("pack the files of %s: %w", b.request.Allocation, err)
	}
	uid, gid := b.setAccount()
	order := podinit.Order{
		Allocation: string(b.request.Allocation), Task: string(b.request.Task),
		Master: m.masterURL(), CertName: m.CertName, NoVerify: m.NoVerify, UID: int(uid), GID: int(gid),
		GPUs: b.slots > 0 && b.request.Template.SlotType.GPU() || b.seesNVIDIA(),
	}
	if b.spec.GetContext() {
		if order.Context = b.files.workDir(); order.Context == "" || path.Clean(b.spec.GetWorkDir()) == "/" {
			return refuseField("work_dir", "files cannot be put into %s, which would hide what the image has there", b.spec.GetWorkDir())
		}
	}
	keys, err := order.Keys(packed, m.CA, b.spec.GetSessionToken())
	if err != nil {
		return err
	}
	for k, v := range keys {
		b.data[k] = v
	}
	b.mountFiles()
	return b.placeInit(b.initContainer(keys))
}

func (b *builder) mountFiles() {
	b.addVolume(volumeFiles, corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}})
	for _, r := range b.files.roots {
		b.main.VolumeMounts = append(b.main.VolumeMounts, corev1.VolumeMount{Name: volumeFiles, MountPath: r.at, SubPath: r.sub})
	}
}

// initContainer returns the init container. It runs as the task's account, so that it can create
// the files without root. It has the same requests as the task's container except devices: this
// does not increase the pod's requests, and satisfies quotas that require requests of each
// container.
func (b *builder) initContainer(keys map[string][]byte) corev1.Container {
	var items []corev1.KeyToPath
	for k := range keys {
		items = append(items, corev1.KeyToPath{Key: k, Path: k})
	}
	slices.SortFunc(items, func(x, y corev1.KeyToPath) int { return strings.Compare(x.Key, y.Key) })
	b.addVolume(volumeOrder, corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: b.jobName(), Items: items}})
	uid, gid := b.setAccount()
	security := &corev1.SecurityContext{
		RunAsUser: &uid, RunAsGroup: &gid, RunAsNonRoot: new(uid != 0), AllowPrivilegeEscalation: new(false),
		ReadOnlyRootFilesystem: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if uid == 0 {
		// Root's files may have any owner.
		security.Capabilities.Add = []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER"}
	}
	return corev1.Container{
		Name: InitContainer, Image: b.request.Template.Image, ImagePullPolicy: corev1.PullIfNotPresent,
		Args:      []string{"pod", "init", "--order", mountOrder, "--files", mountFiles},
		Resources: corev1.ResourceRequirements{Requests: withoutDevices(b.main.Resources.Requests), Limits: withoutDevices(b.main.Resources.Limits)},
		Env:       b.infoVariables(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: volumeOrder, MountPath: mountOrder, ReadOnly: true},
			{Name: volumeFiles, MountPath: mountFiles},
		},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		SecurityContext:          security,
	}
}

// infoVariables returns the task's variables that the init container needs for the information
// files.
func (b *builder) infoVariables() []corev1.EnvVar {
	var out []corev1.EnvVar
	for _, e := range b.main.Env {
		if slices.Contains(agentv1.ClusterInfoVariables(), e.Name) {
			out = append(out, e)
		}
	}
	return out
}

// withoutDevices returns the list without devices.
func withoutDevices(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		if q, set := list[name]; set {
			out[name] = q
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
