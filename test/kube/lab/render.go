package lab

import (
	"bytes"
	"embed"
	"os"
	"path/filepath"
	"text/template"
)

//go:embed files
var files embed.FS

// values are the parameters of the file templates.
type values struct {
	Dir, Namespace, Node, NodeIP, HostIP, PodCIDR, DNSIP, PodGroup string
}

func (l *Lab) values() values {
	return values{l.Dir, l.namespace, NodeName, l.nodeIP, l.hostIP, l.podCIDR, l.dnsIP, l.podGroup}
}

func (l *Lab) render(name string) ([]byte, error) {
	t, err := template.New(name+".tmpl").Option("missingkey=error").ParseFS(files, "files/"+name+".tmpl")
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = t.Execute(&b, l.values())
	return b.Bytes(), err
}

// write renders a file to the path where the components expect it.
func (l *Lab) write(name, to string) error {
	b, err := l.render(name)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o644)
}

// writeNodeFiles writes the configuration files of the real node's programs.
func (l *Lab) writeNodeFiles() error {
	for _, name := range []string{"containerd.toml", "resolv.conf", "Corefile", "kubelet.yaml", "kube-proxy.yaml"} {
		if err := l.write(name, l.path(name)); err != nil {
			return err
		}
	}
	return l.write("10-kubelab.conflist", l.path("cni", "10-kubelab.conflist"))
}
