package awstest_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	sm "github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/servicequotas"
	"github.com/google/go-cmp/cmp"

	"github.com/det-deploy/det-deploy/cloud"
	awstest "github.com/det-deploy/det-deploy/test/fake/aws"
)

func standOn(w *awstest.World) stand {
	return stand{w.Clients(nil), awstest.ImageAMD64, awstest.ImageARM64}
}

func spot(price string) func(*ec2.RunInstancesInput) {
	return func(in *ec2.RunInstancesInput) {
		o := &types.SpotMarketOptions{SpotInstanceType: types.SpotInstanceTypeOneTime}
		if price != "" {
			o.MaxPrice = &price
		}
		in.InstanceMarketOptions = &types.InstanceMarketOptionsRequest{MarketType: types.MarketTypeSpot, SpotOptions: o}
	}
}

func TestInstanceTransitionsTakeTime(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{Boot: 10 * time.Second, Shutdown: 20 * time.Second})
	s := standOn(w)
	id := *s.machine(t, nil).InstanceId
	want := func(name types.InstanceStateName) {
		t.Helper()
		if got := s.instance(t, id).State.Name; got != name {
			t.Errorf("got %s, want %s", got, name)
		}
	}
	want(types.InstanceStateNamePending)
	w.Advance(10 * time.Second)
	want(types.InstanceStateNameRunning)
	s.end(t, id)
	want(types.InstanceStateNameShuttingDown)
	must(t, w.Sleep(t.Context(), 20*time.Second))
	want(types.InstanceStateNameTerminated)
	w.Advance(time.Hour)
	refused[*ec2.DescribeInstancesOutput](t, cloud.NotFound)(s.EC2.DescribeInstances(t.Context(), &ec2.DescribeInstancesInput{InstanceIds: []string{id}}))
}

func TestInterfacesOutliveInstances(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{Linger: 30 * time.Second})
	s := standOn(w)
	vpc := s.vpc(t, "10.1.0.0/16")
	sub := s.subnet(t, vpc, "10.1.0.0/24")
	s.end(t, *s.machine(t, func(in *ec2.RunInstancesInput) { in.SubnetId = &sub }).InstanceId)
	refused[*ec2.DeleteSubnetOutput](t, cloud.Conflict)(s.EC2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: &sub}))
	w.Advance(30 * time.Second)
	get[*ec2.DeleteSubnetOutput](t)(s.EC2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: &sub}))
}

func TestNewProfileIsUnknownAtFirst(t *testing.T) {
	t.Parallel()
	s := standOn(awstest.New(awstest.Options{FreshProfile: 2}))
	s.role(t, "master")
	name := aws.String("master")
	get[*iam.CreateInstanceProfileOutput](t)(s.IAM.CreateInstanceProfile(t.Context(), &iam.CreateInstanceProfileInput{InstanceProfileName: name}))
	get[*iam.AddRoleToInstanceProfileOutput](t)(s.IAM.AddRoleToInstanceProfile(t.Context(), &iam.AddRoleToInstanceProfileInput{InstanceProfileName: name, RoleName: name}))
	for _, want := range []cloud.Kind{cloud.NotFound, cloud.NotFound, ""} {
		refused[*ec2.RunInstancesOutput](t, want)(s.EC2.RunInstances(t.Context(), s.launch(func(in *ec2.RunInstancesInput) {
			in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: name}
		})))
	}
}

func TestQuotasAndCapacity(t *testing.T) {
	t.Parallel()
	several := func(least, most int32, machine types.InstanceType) func(*ec2.RunInstancesInput) {
		return func(in *ec2.RunInstancesInput) { in.MinCount, in.MaxCount, in.InstanceType = &least, &most, machine }
	}
	for _, tc := range []struct {
		name    string
		prepare func(*awstest.World)
		launch  func(*ec2.RunInstancesInput)
		kind    cloud.Kind
		granted int
	}{
		{"the quota of vCPUs", func(w *awstest.World) { w.SetQuota("L-1216C47A", 1) }, nil, cloud.Quota, 0},
		{"as many as the quota has room for", func(w *awstest.World) { w.SetQuota("L-DB2E81BA", 8) }, several(1, 3, "g5.xlarge"), "", 2},
		{"spot has a separate quota", func(w *awstest.World) { w.SetQuota("L-1216C47A", 0) }, spot(""), "", 1},
		{"the quota of spot vCPUs", func(w *awstest.World) { w.SetQuota("L-34B43A08", 0) }, spot(""), cloud.Quota, 0},
		{"a zone has none", func(w *awstest.World) { w.SetCapacity("t3.medium", "us-west-2a", 0) }, nil, cloud.NoCapacity, 0},
		{"a zone has fewer", func(w *awstest.World) { w.SetCapacity("t3.medium", "us-west-2a", 2) }, several(1, 5, "t3.medium"), "", 2},
		{"a zone has fewer than the least", func(w *awstest.World) { w.SetCapacity("t3.medium", "us-west-2a", 2) }, several(3, 5, "t3.medium"), cloud.NoCapacity, 0},
		{"an offer below the market", func(w *awstest.World) { w.SetSpotPrice("t3.medium", 0.02) }, spot("0.01"), cloud.NoCapacity, 0},
		{"an offer above the market", func(w *awstest.World) { w.SetSpotPrice("t3.medium", 0.02) }, spot("0.03"), "", 1},
		{"a zone that does not have the type", func(*awstest.World) {}, several(1, 1, "p5.48xlarge"), cloud.NoCapacity, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := awstest.New(awstest.Options{})
			tc.prepare(w)
			s := standOn(w)
			refused[*ec2.RunInstancesOutput](t, tc.kind)(s.EC2.RunInstances(t.Context(), s.launch(tc.launch)))
			if got := len(w.Instances()); got != tc.granted {
				t.Errorf("got %d machines, want %d", got, tc.granted)
			}
		})
	}
}

func TestQuotasOfTheNetwork(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	w.SetQuota("L-F678F1CE", 1)
	w.SetQuota("L-0263D0A3", 0)
	s := standOn(w)
	_, err := network(t.Context(), s.Clients)
	wantKind(t, err, cloud.Quota)
	refused[*ec2.AllocateAddressOutput](t, cloud.Quota)(s.EC2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{}))
	out := get[*servicequotas.GetServiceQuotaOutput](t)(s.Quotas.GetServiceQuota(t.Context(), &servicequotas.GetServiceQuotaInput{ServiceCode: aws.String("vpc"), QuotaCode: aws.String("L-F678F1CE")}))
	if *out.Quota.Value != 1 {
		t.Errorf("got %v, want 1", *out.Quota.Value)
	}
}

func TestInterruption(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	s := standOn(w)
	m := s.machine(t, spot(""))
	w.Interrupt(*m.InstanceId)
	live := s.instance(t, *m.InstanceId)
	if live.State.Name != types.InstanceStateNameTerminated || *live.StateReason.Code != "Server.SpotInstanceTermination" {
		t.Errorf("got %s for %s, want an interrupted instance", live.State.Name, *live.StateReason.Code)
	}
	if got := w.Live(); len(got) != 0 {
		t.Errorf("got %v, want no open request", got)
	}
}

func TestCancelRequestKeepsInstance(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	s := standOn(w)
	m := s.machine(t, spot(""))
	out := get[*ec2.CancelSpotInstanceRequestsOutput](t)(s.EC2.CancelSpotInstanceRequests(t.Context(), &ec2.CancelSpotInstanceRequestsInput{SpotInstanceRequestIds: []string{*m.SpotInstanceRequestId}}))
	if got := out.CancelledSpotInstanceRequests[0].State; got != types.CancelSpotInstanceRequestStateCancelled || len(w.Instances()) != 1 {
		t.Errorf("got %s and %d machines, want a cancelled request and its machine", got, len(w.Instances()))
	}
}

func TestSecretsScheduledForDeletion(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	s := standOn(w)
	name := aws.String("det-deploy/lab/tls-key")
	get[*sm.CreateSecretOutput](t)(s.Secrets.CreateSecret(t.Context(), &sm.CreateSecretInput{Name: name, SecretString: aws.String("k")}))
	get[*sm.DeleteSecretOutput](t)(s.Secrets.DeleteSecret(t.Context(), &sm.DeleteSecretInput{SecretId: name, RecoveryWindowInDays: aws.Int64(7)}))
	if d := cmp.Diff(w.Live(), []string{"secret det-deploy/lab/tls-key"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	w.Advance(7 * 24 * time.Hour)
	if got := w.Live(); len(got) != 0 {
		t.Errorf("after the time of grace: got %v, want nothing", got)
	}
}

func TestForeignAndRemoteBuckets(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	w.GiveForeignBucket("theirs")
	s := standOn(w)
	here := &s3types.CreateBucketConfiguration{LocationConstraint: "us-west-2"}
	refused[*s3.CreateBucketOutput](t, cloud.Conflict)(s.S3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("theirs"), CreateBucketConfiguration: here}))
	refused[*s3.HeadBucketOutput](t, cloud.Denied)(s.S3.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: aws.String("theirs")}))
	refused[*s3.CreateBucketOutput](t, cloud.Invalid)(s.S3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: aws.String("nowhere")}))
	b := s.bucket(t)
	refused[*s3.HeadBucketOutput](t, cloud.Invalid)(w.ClientsIn("eu-west-1", nil).S3.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: b}))
}

func TestBucketWithRemainingObjects(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{Page: 2})
	s := standOn(w)
	b := s.bucket(t)
	for _, k := range []string{"a", "b", "c"} {
		get[*s3.PutObjectOutput](t)(s.put(t, b, k, k, nil))
		w.GiveUpload(*b, k)
	}
	w.Undeletable("b")
	out := get[*s3.DeleteObjectsOutput](t)(s.S3.DeleteObjects(t.Context(), &s3.DeleteObjectsInput{Bucket: b, Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: aws.String("a")}, {Key: aws.String("b")}}}}))
	if len(out.Errors) != 1 || *out.Errors[0].Key != "b" {
		t.Errorf("got %+v, want that b was refused", out.Errors)
	}
	uploads := 0
	p := s3.NewListMultipartUploadsPaginator(s.S3, &s3.ListMultipartUploadsInput{Bucket: b})
	for p.HasMorePages() {
		for _, u := range get[*s3.ListMultipartUploadsOutput](t)(p.NextPage(t.Context())).Uploads {
			uploads++
			get[*s3.AbortMultipartUploadOutput](t)(s.S3.AbortMultipartUpload(t.Context(), &s3.AbortMultipartUploadInput{Bucket: b, Key: u.Key, UploadId: u.UploadId}))
		}
	}
	if uploads != 3 {
		t.Errorf("got %d uploads, want 3", uploads)
	}
	body, found := w.Object(*b, "c")
	if !found || string(body) != "c" {
		t.Errorf("got %q, want the written content", body)
	}
}

func TestVersionsComeInPages(t *testing.T) {
	t.Parallel()
	s := standOn(awstest.New(awstest.Options{Page: 2}))
	b := s.bucket(t)
	get[*s3.PutBucketVersioningOutput](t)(s.S3.PutBucketVersioning(t.Context(), &s3.PutBucketVersioningInput{Bucket: b, VersioningConfiguration: &s3types.VersioningConfiguration{Status: s3types.BucketVersioningStatusEnabled}}))
	for _, k := range []string{"a", "a", "b", "a", "c"} {
		get[*s3.PutObjectOutput](t)(s.put(t, b, k, k, nil))
	}
	var got []string
	p := s3.NewListObjectVersionsPaginator(s.S3, &s3.ListObjectVersionsInput{Bucket: b})
	for p.HasMorePages() {
		for _, v := range get[*s3.ListObjectVersionsOutput](t)(p.NextPage(t.Context())).Versions {
			got = append(got, *v.Key)
		}
	}
	if d := cmp.Diff(got, []string{"a", "a", "a", "b", "c"}); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
}

func TestLiveObjects(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	s := standOn(w)
	m := s.machine(t, func(in *ec2.RunInstancesInput) {
		in.UserData, in.DisableApiTermination = aws.String("IyEvYmluL3NoCg=="), aws.Bool(true)
	})
	w.SetConsole(*m.InstanceId, "kernel panic")
	out := get[*ec2.GetConsoleOutputOutput](t)(s.EC2.GetConsoleOutput(t.Context(), &ec2.GetConsoleOutputInput{InstanceId: m.InstanceId}))
	if got := w.UserData(*m.InstanceId); got != "#!/bin/sh\n" || !w.Protected(*m.InstanceId) || *out.Output != "a2VybmVsIHBhbmlj" {
		t.Errorf("got %q, %t, %q; want the script, protection and the console", got, w.Protected(*m.InstanceId), *out.Output)
	}
	get[*cloudwatch.PutMetricDataOutput](t)(s.Metrics.PutMetricData(t.Context(), &cloudwatch.PutMetricDataInput{Namespace: aws.String("Determined"), MetricData: []cwtypes.MetricDatum{{MetricName: aws.String("gpu")}}}))
	if got := len(w.Metrics("Determined")); got != 1 {
		t.Errorf("got %d metrics, want 1", got)
	}
	snap := w.GiveSnapshot(50)
	v := get[*ec2.CreateVolumeOutput](t)(s.EC2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2a"), SnapshotId: &snap}))
	if *v.Size != 50 {
		t.Errorf("got %d GiB, want the snapshot's 50", *v.Size)
	}
}

func TestLeftoverInterfaceBlocksSubnet(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	s := standOn(w)
	vpc := s.vpc(t, "10.1.0.0/16")
	sub := s.subnet(t, vpc, "10.1.0.0/24")
	nic := w.GiveInterface(sub, map[string]string{"det-deploy-cluster": "lab"}, s.group(t, vpc, "agent"))
	refused[*ec2.DeleteSubnetOutput](t, cloud.Conflict)(s.EC2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: &sub}))
	get[*ec2.DeleteNetworkInterfaceOutput](t)(s.EC2.DeleteNetworkInterface(t.Context(), &ec2.DeleteNetworkInterfaceInput{NetworkInterfaceId: &nic}))
	get[*ec2.DeleteSubnetOutput](t)(s.EC2.DeleteSubnet(t.Context(), &ec2.DeleteSubnetInput{SubnetId: &sub}))
}

func TestSimulationUsesDeny(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	w.Deny("iam:PassRole")
	c := w.Clients(nil)
	got := make(map[string]string)
	p := iam.NewSimulatePrincipalPolicyPaginator(c.IAM, &iam.SimulatePrincipalPolicyInput{PolicySourceArn: aws.String("arn:aws:iam::123456789012:user/ann"), ActionNames: []string{"iam:PassRole", "ec2:RunInstances", "s3:GetObject", "sts:AssumeRole"}})
	for p.HasMorePages() {
		for _, r := range get[*iam.SimulatePrincipalPolicyOutput](t)(p.NextPage(t.Context())).EvaluationResults {
			got[*r.EvalActionName] = string(r.EvalDecision)
		}
	}
	want := map[string]string{"iam:PassRole": "implicitDeny", "ec2:RunInstances": "allowed", "s3:GetObject": "allowed", "sts:AssumeRole": "allowed"}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("got -, want +:\n%s", d)
	}
	s := standOn(w)
	s.machine(t, nil) // passes no role
	refused[*ec2.RunInstancesOutput](t, cloud.Denied)(s.EC2.RunInstances(t.Context(), s.launch(func(in *ec2.RunInstancesInput) {
		in.IamInstanceProfile = &types.IamInstanceProfileSpecification{Name: aws.String("p")}
	})))
}

func TestDiskTransitionsTakeTime(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{Disk: time.Minute})
	s := standOn(w)
	m := s.machine(t, nil)
	s.instance(t, *m.InstanceId)
	v := get[*ec2.CreateVolumeOutput](t)(s.EC2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2a"), Size: aws.Int32(10)})).VolumeId
	attach := func(want cloud.Kind) {
		t.Helper()
		refused[*ec2.AttachVolumeOutput](t, want)(s.EC2.AttachVolume(t.Context(), &ec2.AttachVolumeInput{VolumeId: v, InstanceId: m.InstanceId, Device: aws.String("/dev/sdf")}))
	}
	attach(cloud.Conflict)
	w.Advance(time.Minute)
	attach("")
	get[*ec2.DetachVolumeOutput](t)(s.EC2.DetachVolume(t.Context(), &ec2.DetachVolumeInput{VolumeId: v}))
	refused[*ec2.DeleteVolumeOutput](t, cloud.Conflict)(s.EC2.DeleteVolume(t.Context(), &ec2.DeleteVolumeInput{VolumeId: v}))
	w.Advance(time.Minute)
	snap := get[*ec2.CreateSnapshotOutput](t)(s.EC2.CreateSnapshot(t.Context(), &ec2.CreateSnapshotInput{VolumeId: v})).SnapshotId
	from := &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2a"), SnapshotId: snap}
	refused[*ec2.CreateVolumeOutput](t, cloud.Conflict)(s.EC2.CreateVolume(t.Context(), from))
	w.Advance(time.Minute)
	get[*ec2.CreateVolumeOutput](t)(s.EC2.CreateVolume(t.Context(), &ec2.CreateVolumeInput{AvailabilityZone: aws.String("us-west-2a"), SnapshotId: snap}))
	get[*ec2.DeleteVolumeOutput](t)(s.EC2.DeleteVolume(t.Context(), &ec2.DeleteVolumeInput{VolumeId: v}))
}

func TestEndpointDeletionTakesTime(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{Linger: time.Minute})
	s := standOn(w)
	vpc := s.vpc(t, "10.1.0.0/16")
	e := get[*ec2.CreateVpcEndpointOutput](t)(s.EC2.CreateVpcEndpoint(t.Context(), &ec2.CreateVpcEndpointInput{VpcId: &vpc, ServiceName: aws.String("com.amazonaws.us-west-2.s3")})).VpcEndpoint
	get[*ec2.DeleteVpcEndpointsOutput](t)(s.EC2.DeleteVpcEndpoints(t.Context(), &ec2.DeleteVpcEndpointsInput{VpcEndpointIds: []string{*e.VpcEndpointId}}))
	refused[*ec2.DeleteVpcOutput](t, cloud.Conflict)(s.EC2.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: &vpc}))
	w.Advance(time.Minute)
	get[*ec2.DeleteVpcOutput](t)(s.EC2.DeleteVpc(t.Context(), &ec2.DeleteVpcInput{VpcId: &vpc}))
}

func TestNameReuseIsDelayed(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{Reuse: time.Minute})
	s := standOn(w)
	b := s.bucket(t)
	get[*s3.DeleteBucketOutput](t)(s.S3.DeleteBucket(t.Context(), &s3.DeleteBucketInput{Bucket: b}))
	again := &s3.CreateBucketInput{Bucket: b, CreateBucketConfiguration: &s3types.CreateBucketConfiguration{LocationConstraint: "us-west-2"}}
	refused[*s3.CreateBucketOutput](t, cloud.Conflict)(s.S3.CreateBucket(t.Context(), again))
	secret := &sm.CreateSecretInput{Name: aws.String("x"), SecretString: aws.String("y")}
	get[*sm.CreateSecretOutput](t)(s.Secrets.CreateSecret(t.Context(), secret))
	get[*sm.DeleteSecretOutput](t)(s.Secrets.DeleteSecret(t.Context(), &sm.DeleteSecretInput{SecretId: secret.Name, ForceDeleteWithoutRecovery: aws.Bool(true)}))
	refused[*sm.CreateSecretOutput](t, cloud.Conflict)(s.Secrets.CreateSecret(t.Context(), secret))
	w.Advance(time.Minute)
	get[*s3.CreateBucketOutput](t)(s.S3.CreateBucket(t.Context(), again))
	get[*sm.CreateSecretOutput](t)(s.Secrets.CreateSecret(t.Context(), secret))
}

func TestPowerOff(t *testing.T) {
	t.Parallel()
	w := awstest.New(awstest.Options{})
	s := standOn(w)
	stops := *s.machine(t, nil).InstanceId
	ends := *s.machine(t, func(in *ec2.RunInstancesInput) {
		in.InstanceInitiatedShutdownBehavior = types.ShutdownBehaviorTerminate
	}).InstanceId
	before := *s.instance(t, stops).PublicIpAddress
	w.PowerOff(stops)
	w.PowerOff(ends)
	for id, want := range map[string]types.InstanceStateName{stops: types.InstanceStateNameStopped, ends: types.InstanceStateNameTerminated} {
		if got := s.instance(t, id).State.Name; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	get[*ec2.StartInstancesOutput](t)(s.EC2.StartInstances(t.Context(), &ec2.StartInstancesInput{InstanceIds: []string{stops}}))
	if got := s.instance(t, stops).PublicIpAddress; got == nil || *got == before {
		t.Errorf("got %v, want another public address than %s", got, before)
	}
}

func TestAddressNeedsGateway(t *testing.T) {
	t.Parallel()
	s := standOn(awstest.New(awstest.Options{}))
	vpc := s.vpc(t, "10.1.0.0/16")
	sub := s.subnet(t, vpc, "10.1.0.0/24")
	m := s.machine(t, func(in *ec2.RunInstancesInput) { in.SubnetId = &sub })
	s.instance(t, *m.InstanceId)
	a := get[*ec2.AllocateAddressOutput](t)(s.EC2.AllocateAddress(t.Context(), &ec2.AllocateAddressInput{}))
	in := &ec2.AssociateAddressInput{AllocationId: a.AllocationId, InstanceId: m.InstanceId}
	refused[*ec2.AssociateAddressOutput](t, cloud.NotFound)(s.EC2.AssociateAddress(t.Context(), in))
	s.gateway(t, vpc)
	get[*ec2.AssociateAddressOutput](t)(s.EC2.AssociateAddress(t.Context(), in))
	if got := s.instance(t, *m.InstanceId).PublicIpAddress; got == nil || *got != *a.PublicIp {
		t.Errorf("got %v, want the machine at %s", got, *a.PublicIp)
	}
}
