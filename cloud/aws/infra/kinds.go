package infra

// The kinds of things that a cluster consists of, as the inventory lists them.
const (
	KindLogGroup     = "log-group"
	KindSecret       = "secret"
	KindBucket       = "bucket"
	KindSnapshot     = "snapshot"
	KindVolume       = "volume"
	KindRole         = "role"
	KindProfile      = "instance-profile"
	KindVPC          = "vpc"
	KindGateway      = "internet-gateway"
	KindSubnet       = "subnet"
	KindGroup        = "security-group"
	KindRoutes       = "route-table"
	KindEndpoint     = "vpc-endpoint"
	KindRules        = "security-rules"
	KindAddress      = "address"
	KindInterface    = "network-interface"
	KindAgent        = "agent"
	KindSpotRequest  = "spot-request"
	KindInstance     = "instance"
	KindSpotRole     = "service-linked-role"
	KindAssociation  = "address-association"
	KindAttachment   = "volume-attachment"
	kindPrefix       = "aws/"
	retainData       = "holds the checkpoints"
	retainVolume     = "holds the database"
	retainBackup     = "holds a backup of the database"
	retainOpensData  = "opens data that is kept"
	retainMayOpen    = "may open data of yours: what the cluster was to be cannot be read"
	retainLogs       = "the logs are to be kept"
	clusterPathStart = "/det-deploy/"
)

// Kinds lists every kind, those that others need first. Going backwards is the
// order of `down`:
//
//	stop the master, its disk and address come off ──▶ the master goes, so that
//	nothing launches agents ──▶ spot requests, agents ──▶ what hangs on the
//	network ──▶ the network ──▶ roles ──▶ data, then what opens it ──▶ logs
func Kinds() []string {
	return []string{
		KindLogGroup,
		KindSecret, KindBucket, KindSnapshot, KindVolume,
		KindRole, KindProfile,
		KindVPC, KindGateway, KindSubnet, KindGroup, KindRoutes, KindEndpoint, KindRules,
		KindAddress, KindInterface,
		KindAgent, KindSpotRequest,
		KindInstance,
		KindAssociation, KindAttachment,
	}
}

// Kinds lists every kind, those that others need first.
func (*Cluster) Kinds() []string { return Kinds() }

func resourceID(kind, name string) string { return kindPrefix + kind + "/" + name }
