package awstest

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	qtypes "github.com/aws/aws-sdk-go-v2/service/servicequotas/types"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	stypes "github.com/aws/aws-sdk-go-v2/service/ssm/types"
)

// defaultQuotas returns typical quotas of a small account by Service Quotas code.
func defaultQuotas() map[string]float64 {
	return map[string]float64{
		"L-1216C47A": 64,  // running on-demand standard vCPUs
		"L-DB2E81BA": 64,  // running on-demand G and VT vCPUs
		"L-417A185B": 96,  // running on-demand P vCPUs
		"L-34B43A08": 64,  // standard spot vCPUs
		"L-3819A6DF": 64,  // G and VT spot vCPUs
		"L-7212CCBC": 96,  // P4, P3 and P2 spot vCPUs
		"L-C4BD4855": 0,   // P5 spot vCPUs
		"L-0263D0A3": 5,   // Elastic IP addresses
		"L-F678F1CE": 5,   // VPCs
		"L-A4707A72": 5,   // internet gateways
		"L-DC2B2D3D": 100, // buckets
	}
}

// SetQuota sets a quota in the world's region.
func (w *World) SetQuota(code string, n float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.site(w.opt.Region).quotas[code] = n
}

func (s *site) getServiceQuota(in *servicequotas.GetServiceQuotaInput) (*servicequotas.GetServiceQuotaOutput, error) {
	n, ok := s.quotas[aws.ToString(in.QuotaCode)]
	if !ok {
		return nil, refuse(400, "NoSuchResourceException", "The request failed because the specified service quota does not exist.")
	}
	return &servicequotas.GetServiceQuotaOutput{Quota: &qtypes.ServiceQuota{ServiceCode: in.ServiceCode, QuotaCode: in.QuotaCode, Value: &n, Adjustable: true}}, nil
}

// getParameter returns the public parameters with image IDs.
func (s *site) getParameter(in *ssm.GetParameterInput) (*ssm.GetParameterOutput, error) {
	name := aws.ToString(in.Name)
	image := ""
	switch {
	case strings.HasPrefix(name, "/aws/service/canonical/ubuntu/server/22.04/") && strings.Contains(name, "/amd64/"):
		image = ImageAMD64
	case strings.HasPrefix(name, "/aws/service/canonical/ubuntu/server/22.04/") && strings.Contains(name, "/arm64/"):
		image = ImageARM64
	case strings.HasPrefix(name, "/aws/service/canonical/ubuntu/server/24.04/") && strings.Contains(name, "/amd64/"):
		image = ImageNobleAMD64
	case strings.HasPrefix(name, "/aws/service/canonical/ubuntu/server/24.04/") && strings.Contains(name, "/arm64/"):
		image = ImageNobleARM64
	case name == "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id":
		image = ImageGPUAMD64
	case name == "/aws/service/deeplearning/ami/x86_64/base-oss-nvidia-driver-gpu-ubuntu-22.04/latest/ami-id":
		image = ImageOldGPUAMD64
	case name == "/aws/service/deeplearning/ami/arm64/base-oss-nvidia-driver-gpu-ubuntu-24.04/latest/ami-id":
		image = ImageGPUARM64
	case strings.HasPrefix(name, "/aws/service/debian/release/12/") && strings.HasSuffix(name, "/amd64"):
		image = ImageDebian
	}
	if _, found := s.imageOf(image); !found {
		return nil, refuse(400, "ParameterNotFound", name)
	}
	return &ssm.GetParameterOutput{Parameter: &stypes.Parameter{Name: &name, Value: &image, Type: stypes.ParameterTypeString}}, nil
}
