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
	// Kubernetes registers its --version in the global flag set, which cobra would take for KWOK's.
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

// untilTold completes a pod of a Job after the delay in its annotation, and never without one.
const untilTold = `  delay:
    durationMilliseconds: 0
    durationFrom:
      expressionFrom: '.metadata.annotations["pod-complete.stage.kwok.x-k8s.io/delay"]'
`

// podStop terminates the containers of a deleted pod, as a kubelet does: the Job controller
// releases the pod only afterwards.
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

// onceStopped is the further condition for the removal of a deleted pod.
const onceStopped = `
    - key: '.status.phase'
      operator: 'In'
      values: [Succeeded, Failed]`

// printStages prints the rules by which fake nodes become Ready and fake pods Running, as a file
// for kwok --config. They are KWOK's defaults except for the end of pods.
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
