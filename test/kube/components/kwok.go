package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	nodefast "sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/config"
	kwok "sigs.k8s.io/kwok/pkg/kwok/cmd"
	"sigs.k8s.io/kwok/pkg/log"
	"sigs.k8s.io/kwok/pkg/utils/signals"
)

func runKwok() error {
	// Kubernetes puts a --version of its own into the global set, which cobra
	// would take for KWOK's.
	pflag.CommandLine = pflag.NewFlagSet("kwok", pflag.ContinueOnError)
	global := pflag.NewFlagSet("global", pflag.ContinueOnError)
	global.ParseErrorsAllowlist.UnknownFlags = true
	global.Usage = func() {}
	ctx, _ := log.InitFlags(signals.SetupSignalContext(), global)
	ctx, err := config.InitFlags(ctx, global)
	if err != nil {
		return err
	}
	c := kwok.NewCommand(ctx)
	c.PersistentFlags().AddFlagSet(global)
	return c.ExecuteContext(ctx)
}

// untilTold lets a pod of a Job run for as long as its annotation says, and not
// at all without one.
const untilTold = `  delay:
    durationMilliseconds: 0
    durationFrom:
      expressionFrom: '.metadata.annotations["pod-complete.stage.kwok.x-k8s.io/delay"]'
`

// podStop ends the containers of a pod that is deleted, as a kubelet does: the Job
// controller does not let go of a pod before.
const podStop = `apiVersion: kwok.x-k8s.io/v1alpha1
kind: Stage
metadata:
  name: pod-stop
spec:
  resourceRef:
    apiGroup: v1
    kind: Pod
  selector:
    matchExpressions:
    - {key: .metadata.deletionTimestamp, operator: Exists}
    - {key: .status.phase, operator: NotIn, values: [Succeeded, Failed]}
  next:
    statusTemplate: |
      {{ $now := Now }}
      containerStatuses:
      {{ range .spec.containers }}
      - image: {{ .image | Quote }}
        name: {{ .name | Quote }}
        ready: false
        restartCount: 0
        started: false
        state:
          terminated:
            exitCode: 143
            finishedAt: {{ $now | Quote }}
            reason: Error
            startedAt: {{ $now | Quote }}
      {{ end }}
      phase: Failed
`

// onceStopped is what else has to be so before a deleted pod goes.
const onceStopped = `
    - key: '.status.phase'
      operator: 'In'
      values: [Succeeded, Failed]`

// printStages prints the rules by which fake nodes become Ready and fake pods
// Running, KWOK's own defaults but for how they end, as a file for kwok --config.
func printStages() int {
	fmt.Fprintln(os.Stdout, strings.Join([]string{
		nodefast.DefaultNodeInit,
		heartbeat.DefaultNodeHeartbeatWithLease,
		podfast.DefaultPodReady,
		strings.Replace(podfast.DefaultPodComplete, "\nspec:\n", "\nspec:\n"+untilTold, 1),
		podStop,
		strings.Replace(podfast.DefaultPodDelete, "\n  next:\n", onceStopped+"\n  next:\n", 1),
	}, "\n---\n"))
	return 0
}
