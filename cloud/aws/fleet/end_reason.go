package fleet

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/det-deploy/det-deploy/cloud"
)

// verdict is the classification of a state reason.
type verdict struct {
	kind cloud.Kind
	fix  string
}

// stateReasons returns all state reasons with which EC2 itself terminates a launched instance. The
// others stem from an API call or a shutdown by the instance.
func stateReasons() map[string]verdict {
	return map[string]verdict{
		"Server.SpotInstanceTermination":      {kind: cloud.NoCapacity},
		"Server.SpotInstanceShutdown":         {kind: cloud.NoCapacity},
		"Server.InsufficientInstanceCapacity": {kind: cloud.NoCapacity},
		"Server.InternalError":                {kind: cloud.Invalid},
		"Client.VolumeLimitExceeded":          {cloud.Quota, "request more EBS storage in Service Quotas, or use less: a smaller root_volume_size or fewer instances"},
		"Client.InvalidSnapshot.NotFound":     {cloud.Invalid, "choose another image_id; the image's snapshot no longer exists"},
		"Client.InternalError": {
			cloud.Invalid,
			"if the volume uses a customer managed KMS key, allow the master's role to use it (`det-deploy aws policy master` lists the actions); otherwise choose another image_id",
		},
	}
}

// stateReasonPrefixes returns the state reasons that are matched by their prefix.
func stateReasonPrefixes() map[string]verdict {
	return map[string]verdict{
		"Client.InvalidKMSKey.": {cloud.Invalid, "enable the KMS key of the volumes, or choose another default key for the region"},
	}
}

// endReason returns the reason for an instance's termination as reported by EC2, and its
// classification.
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
