package gcptest

import "google.golang.org/api/orgpolicy/v2"

// Constrain sets an organization policy of a project, such as the allowed values of
// "compute.vmExternalIpAccess".
func (w *World) Constrain(projectID, constraint string, rule *orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p := w.projects[projectID]
	if p.constraints == nil {
		p.constraints = make(map[string]*orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule)
	}
	p.constraints[constraint] = rule
}

func constraintActs() map[string]act {
	return map[string]act{"orgpolicy.projects.policies.getEffectivePolicy": getConstraint}
}

// getConstraint returns the effective policy of a constraint, set or not.
// https://cloud.google.com/resource-manager/docs/reference/orgpolicy/rest/v2/projects.policies/getEffectivePolicy
func getConstraint(c *call) (any, error) {
	p, err := c.project(c.params["projectsId"])
	if err != nil {
		return nil, err
	}
	rule := p.constraints[c.params["policiesId"]]
	if rule == nil {
		rule = &orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{AllowAll: true}
	}
	return &orgpolicy.GoogleCloudOrgpolicyV2Policy{
		Name: "projects/" + decimal64(p.number) + "/policies/" + c.params["policiesId"],
		Spec: &orgpolicy.GoogleCloudOrgpolicyV2PolicySpec{Rules: []*orgpolicy.GoogleCloudOrgpolicyV2PolicySpecPolicyRule{rule}},
	}, nil
}
