package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"          // --logging-format=json
	_ "k8s.io/component-base/metrics/prometheus/clientgo" // the clients' metrics
	_ "k8s.io/component-base/metrics/prometheus/version"  // kubernetes_build_info
	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

// components returns the programs by name; each returns its exit code.
func components() map[string]func() int {
	return map[string]func() int{
		"kube-apiserver":          of(apiserver.NewAPIServerCommand),
		"kube-controller-manager": of(controllers.NewControllerManagerCommand),
		"kube-scheduler":          of(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
		"kubelet":                 of(func() *cobra.Command { return kubelet.NewKubeletCommand(background()) }),
		"kube-proxy":              of(proxy.NewProxyCommand),
		"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
		"coredns":                 func() int { return complain(serveDNS()) },
		"kwok":                    func() int { return complain(runKwok()) },
		"kwok-stages":             printStages,
		"kubectl":                 runKubectl,
	}
}

// background is for the one command that needs a context before it runs; it handles signals itself.
func background() context.Context {
	return context.Background() //nolint:forbidigo // this is the top of a program
}

// of returns a component for one of Kubernetes' commands. The command is built only when it is run,
// because the commands share global flags.
func of(build func() *cobra.Command) func() int {
	return func() int { return cli.Run(build()) }
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}
