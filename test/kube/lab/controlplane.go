package lab

import "fmt"

// etcd runs without fsync, because its data are not kept after a restart.
func (l *Lab) etcd(s state) component {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", s.Ports.Etcd), fmt.Sprintf("http://127.0.0.1:%d", s.Ports.Peer)
	return component{name: "etcd", inNode: s.real(), argv: []string{
		l.program("etcd"), "--name=kubelab", "--data-dir=" + l.path("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--listen-client-urls=" + client, "--advertise-client-urls=" + client,
		"--listen-peer-urls=" + peer, "--initial-advertise-peer-urls=" + peer, "--initial-cluster=kubelab=" + peer,
	}}
}

func (l *Lab) apiserver(s state) component {
	pki := func(file string) string { return l.path("pki", file) }
	argv := []string{
		l.program("kube-apiserver"),
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", s.Ports.Etcd),
		fmt.Sprintf("--secure-port=%d", s.Ports.API),
		"--service-cluster-ip-range=" + l.serviceCIDR,
		"--tls-cert-file=" + pki("apiserver.crt"), "--tls-private-key-file=" + pki("apiserver.key"),
		"--client-ca-file=" + pki("ca.crt"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local",
		"--service-account-key-file=" + pki("sa.key"), "--service-account-signing-key-file=" + pki("sa.key"),
		"--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged=true",
		"--requestheader-client-ca-file=" + pki("front-proxy-ca.crt"), "--requestheader-allowed-names=front-proxy-client",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--proxy-client-cert-file=" + pki("front-proxy-client.crt"), "--proxy-client-key-file=" + pki("front-proxy-client.key"),
		"--kubelet-client-certificate=" + pki("apiserver-kubelet-client.crt"), "--kubelet-client-key=" + pki("apiserver-kubelet-client.key"),
		"--kubelet-certificate-authority=" + pki("ca.crt"), "--kubelet-preferred-address-types=InternalIP",
		"--cert-dir=" + l.path("certs"), "--profiling=false",
	}
	if s.real() {
		argv = append(argv, "--bind-address=0.0.0.0", "--advertise-address="+l.nodeIP)
	} else {
		// A loopback address is not a valid endpoint of the Service.
		argv = append(argv, "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
			"--endpoint-reconciler-type=none", "--egress-selector-config-file="+l.path("egress.yaml"))
	}
	return component{name: "kube-apiserver", inNode: s.real(), argv: argv}
}

// controllers and scheduler have higher client rate limits: the default limits throttle them for
// four seconds at the start.
func (l *Lab) controllers(s state) component {
	argv := l.controller("kube-controller-manager", "controller-manager", s.Ports.Controllers)
	return component{name: "kube-controller-manager", inNode: s.real(), argv: append(
		argv,
		"--root-ca-file="+l.path("pki", "ca.crt"), "--service-account-private-key-file="+l.path("pki", "sa.key"),
		"--cluster-signing-cert-file="+l.path("pki", "ca.crt"), "--cluster-signing-key-file="+l.path("pki", "ca.key"),
		"--use-service-account-credentials=true", "--allocate-node-cidrs=false", "--pvclaimbinder-sync-period=2s",
	)}
}

func (l *Lab) scheduler(s state) component {
	return component{name: "kube-scheduler", inNode: s.real(), argv: l.controller("kube-scheduler", "scheduler", s.Ports.Scheduler)}
}

func (l *Lab) controller(program, identity string, port int) []string {
	kubeconfig := l.path(identity + ".kubeconfig")
	return []string{
		l.program(program), "--kubeconfig=" + kubeconfig,
		"--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--cert-dir=" + l.path("certs"),
		"--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=1000",
	}
}

func (l *Lab) provisioner(s state) component {
	return component{name: "provisioner", inNode: s.real(), argv: []string{l.program("kubelab"), "provisioner"}}
}
