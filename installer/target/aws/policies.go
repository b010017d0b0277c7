package aws

import "encoding/json"

// statement is one of a policy's.
type statement struct {
	Effect   string
	Action   []string
	Resource []string
}

func policyText(statements ...statement) (string, error) {
	data, err := json.Marshal(struct {
		Version   string
		Statement []statement
	}{"2012-10-17", statements})
	return string(data), err
}

func (t *Target) masterPolicy() (string, error) {
	return policyText(statement{"Allow", []string{"ec2:RunInstances"}, []string{"*"}})
}

func (t *Target) agentPolicy() (string, error) {
	return policyText(statement{"Allow", []string{"s3:GetObject"}, []string{"arn:aws:s3:::" + t.dataBucket() + "/*"}})
}
