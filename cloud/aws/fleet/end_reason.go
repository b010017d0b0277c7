package fleet

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
)

// verdict is what one of EC2's state reasons amounts to.
type verdict struct {
	kind cloud.Kind
	fix  string
}

// stateReasons lists every state reason by which EC2 itself ends a machine that it has
// granted. The others are a call of a user or a program, or the machine's own shutdown.
func stateReasons() map[string]verdict {
	return map[string]verdict{
		"Server.SpotInstanceTermination":      {kind: cloud.NoCapacity},
		"Server.SpotInstanceShutdown":         {kind: cloud.NoCapacity},
		"Server.InsufficientInstanceCapacity": {kind: cloud.NoCapacity},
		"Server.InternalError":                {kind: cloud.Invalid},
		"Client.VolumeLimitExceeded":          {cloud.Quota, "ask for more EBS storage in Service Quotas, or use less: a smaller root_volume_size, fewer machines"},
		"Client.InvalidSnapshot.NotFound":     {cloud.Invalid, "choose another image_id: the snapshot of its disk is gone"},
		"Client.InternalError": {
			cloud.Invalid,
			"if the disk's KMS key is your own, allow the master's role to use it (`det-deploy aws policy master` has the actions); else choose another image_id",
		},
	}
}

// stateReasonPrefixes are state reasons with many endings, by their beginning.
func stateReasonPrefixes() map[string]verdict {
	return map[string]verdict{
		"Client.InvalidKMSKey.": {cloud.Invalid, "enable the KMS key that disks are encrypted with, or choose another one for the region"},
	}
}

// endReason says why a machine has ended, in EC2's words and in ours.
func endReason(i types.Instance) (reason string, kind cloud.Kind, fix string) {
	if i.StateReason == nil || aws.ToString(i.StateReason.Code) == "" {
		return aws.ToString(i.StateTransitionReason), "", ""
	}
	code, message := aws.ToString(i.StateReason.Code), aws.ToString(i.StateReason.Message)
	v := classifyReason(code)
	switch {
	case message == "":
		return code, v.kind, v.fix
	case strings.HasPrefix(message, code):
		return message, v.kind, v.fix
	}
	return code + ": " + message, v.kind, v.fix
}

func classifyReason(code string) verdict {
	if v, found := stateReasons()[code]; found {
		return v
	}
	for prefix, v := range stateReasonPrefixes() {
		if strings.HasPrefix(code, prefix) {
			return v
		}
	}
	return verdict{}
}
