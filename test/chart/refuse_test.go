package chart_test

import (
	"strings"
	"testing"
)

func TestRejectedValues(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, values, want string }{
		{"none at all", ``, "at '': value must be 'values with maxSlotsPerPod: the slots (GPUs) of one node, or the greatest common divisor of all nodes'"},
		{"no GPUs in a pod", `{maxSlotsPerPod: 0}`, "at '/maxSlotsPerPod': value must be 'a whole number of at least 1"},
		{"no image that is said to be there", `{maxSlotsPerPod: 1, imageRegistry: null}`, "value must be 'values with imageRegistry: the registry, and the path below it, from which nodes pull the image of det-deploy. None is published; `det-deploy k8s image push` puts it into yours"},
		{"the images of Determined", `{maxSlotsPerPod: 1, imageRegistry: determinedai}`, "at '/imageRegistry': value must be 'another than determinedai"},
		{"CPU slots without a request", `{maxSlotsPerPod: 1, slotType: cpu}`, "at '/slotResourceRequests': value must be 'one with cpu: slotType cpu needs"},
		{"a request for GPU slots", `{maxSlotsPerPod: 1, slotResourceRequests: {cpu: 2}}`, "value must be 'values without slotResourceRequests.cpu"},
		{"a request that is no number", `{maxSlotsPerPod: 1, slotType: cpu, slotResourceRequests: {cpu: many}}`, "at '/slotResourceRequests/cpu': 'many' does not match pattern"},
		{"an unknown value", `{maxSlotsPerPod: 1, maxSlots: 4}`, "at '': additional properties 'maxSlots' not allowed"},
		{"an unknown value below", `{maxSlotsPerPod: 1, db: {hostAdress: x}}`, "at '/db': additional properties 'hostAdress' not allowed"},
		{"both forms of Azure", `{maxSlotsPerPod: 1, checkpointStorage: {type: azure, container: c, connection_string: s, account_url: u}}`, "at '/checkpointStorage': value must be 'one with connection_string or with account_url, not with both'"},
		{"no form of Azure", `{maxSlotsPerPod: 1, checkpointStorage: {type: azure, container: c}}`, "value must be 'one with connection_string or with account_url, with type azure'"},
		{"a credential without its account", `{maxSlotsPerPod: 1, checkpointStorage: {type: azure, container: c, connection_string: s, credential: x}}`, "value must be 'one with account_url: credential belongs to it'"},
		{"S3 without a bucket", `{maxSlotsPerPod: 1, checkpointStorage: {type: s3}}`, "value must be 'one with bucket"},
		{"half a key", `{maxSlotsPerPod: 1, checkpointStorage: {type: s3, bucket: b, accessKey: a}}`, "value must be 'one with both accessKey and secretKey"},
		{"a key twice", `{maxSlotsPerPod: 1, checkpointStorage: {type: s3, bucket: b, accessKey: a, secretKey: s, secretKeyExistingSecret: {name: n, key: k}}}`, "value must be 'one with secretKey or with secretKeyExistingSecret, not with both'"},
		{"a bucket of a directory", `{maxSlotsPerPod: 1, checkpointStorage: {type: directory, containerPath: /x, bucket: b}}`, "at '/checkpointStorage/bucket': value must be 'left out with type directory'"},
		{"the size of a claim that is there", `{maxSlotsPerPod: 1, checkpointStorage: {existingClaim: trials, storageSize: 1Ti}}`, "checkpointStorage.storageSize applies to the volume claim that the master creates with type shared_fs without existingClaim, hostPath and mountToServer, and these values create none: remove it"},
		{"the class of a directory", `{maxSlotsPerPod: 1, checkpointStorage: {storageClassName: nfs, hostPath: /srv}}`, "checkpointStorage.storageClassName applies to the volume claim that the master creates"},
		{"an access mode of a bucket", `{maxSlotsPerPod: 1, checkpointStorage: {type: gcs, bucket: b, accessMode: ReadWriteMany}}`, "checkpointStorage.accessMode applies to the volume claim that the master creates"},
		{"an access mode for one pod", `{maxSlotsPerPod: 1, checkpointStorage: {accessMode: ReadWriteOncePod}}`, "at '/checkpointStorage/accessMode': value must be one of"},
		{"a claim without a size", `{maxSlotsPerPod: 1, checkpointStorage: {storageSize: 0}}`, "at '/checkpointStorage/storageSize'"},
		{"a negative count", `{maxSlotsPerPod: 1, checkpointStorage: {saveTrialBest: -1}}`, "at '/checkpointStorage/saveTrialBest'"},
		{"the enterprise edition", `{maxSlotsPerPod: 1, enterpriseEdition: true}`, "value must be 'false: the enterprise edition is not part of det-deploy'"},
		{"OpenID Connect", `{maxSlotsPerPod: 1, oidc: {enabled: true}}`, "value must be 'left out: OpenID Connect, of the enterprise edition, is not part of det-deploy'"},
		{"GenAI Studio", `{maxSlotsPerPod: 1, genai: {version: 1}}`, "value must be 'left out: GenAI Studio is not part of det-deploy'"},
		{"Fluent Bit", `{maxSlotsPerPod: 1, fluent: {image: x}}`, "value must be 'left out: task logs need no Fluent Bit'"},
		{"Elasticsearch", `{maxSlotsPerPod: 1, logging: {type: elastic, host: h, port: 1}}`, "value must be 'default: task logs in Elasticsearch are not built yet'"},
		{"a second cluster", `{maxSlotsPerPod: 1, additional_resource_managers: [{}]}`, "value must be 'left out: more Kubernetes clusters under one master are not built yet'"},
		{"a monitor without metrics", `{maxSlotsPerPod: 1, serviceMonitor: {enabled: true}, observability: {enable_prometheus: false}}`, "serviceMonitor.enabled needs the master's metrics"},
		{"a gateway of tasks", `{maxSlotsPerPod: 1, resourceManager: {internalTaskGateway: {gatewayName: g}}}`, "value must be 'left out: a gateway in front of tasks is not built yet'"},
		{"a slot that is no extended resource", `{maxSlotsPerPod: 1, slotResource: mig-1g}`, "at '/slotResource'"},
		{"an extended resource for slots of CPUs", `{maxSlotsPerPod: 1, slotType: cpu, slotResourceRequests: {cpu: 1}, slotResource: x.example/dev}`, "slotResource is for slots that a device plugin offers, but slotType is cpu"},
		{"machines of a pool", `{maxSlotsPerPod: 1, resourcePools: [{pool_name: default, provider: {type: aws}}]}`, "machines come from Kubernetes"},
		{"a default pool that is none", `{maxSlotsPerPod: 1, defaultComputeResourcePool: gpu}`, `defaultComputeResourcePool is "gpu", but resourcePools has only default: choose one of these`},
		{"a weak password", `{maxSlotsPerPod: 1, initialUserPassword: secret}`, "at '/initialUserPassword': value must be 'of at least 8 characters"},
		{"a password twice", `{maxSlotsPerPod: 1, initialUserPassword: Hunter2x, defaultPassword: Hunter2x}`, "not with both"},
		{"a weak password of determined", `{maxSlotsPerPod: 1, initialDeterminedPassword: secret}`, "at '/initialDeterminedPassword': value must be 'of at least 8 characters"},
		{"a password of determined twice", `{maxSlotsPerPod: 1, initialDeterminedPassword: Hunter2x, initialDeterminedPasswordExistingSecret: {name: a, key: b}}`, "not with both"},
		{"an external database without a password", `{maxSlotsPerPod: 1, db: {hostAddress: db.example}}`, "at '/db': value must be 'one with password or passwordExistingSecret"},
		{"a volume of an external database", `{maxSlotsPerPod: 1, db: {hostAddress: db.example, password: x, existingClaim: c}}`, "the database at hostAddress is not of this chart"},
		{"an embedded database elsewhere", `{maxSlotsPerPod: 1, db: {type: embedded, hostAddress: x, password: y}}`, "of type postgres with hostAddress"},
		{"a snapshot into another claim", `{maxSlotsPerPod: 1, db: {restoreSnapshotSuffix: a, claimSuffix: b}}`, "db.restoreSnapshotSuffix creates the claim determined-db-pvc-a, but db.claimSuffix names another existing one, determined-db-pvc-b: remove db.restoreSnapshotSuffix to continue with the data of db.claimSuffix"},
		{"a snapshot in the place of a claim that goes", `{maxSlotsPerPod: 1, db: {restoreSnapshotSuffix: a, keepOnUninstall: false}}`, "kubectl -n ml annotate pvc -l app.kubernetes.io/instance=lab,app.kubernetes.io/component=database helm.sh/resource-policy=keep"},
		{"a claim that is there and goes", `{maxSlotsPerPod: 1, db: {claimSuffix: b, keepOnUninstall: false}}`, "kubectl -n ml annotate pvc determined-db-pvc-b helm.sh/resource-policy=keep"},
		{"a certificate nobody checks", `{maxSlotsPerPod: 1, db: {hostAddress: h, password: x, sslRootCert: ca.pem, certResourceName: ca}}`, "one with sslMode verify-full"},
		{"TLS to the chart's own database", `{maxSlotsPerPod: 1, db: {sslMode: require}}`, "the PostgreSQL of this chart speaks no TLS"},
		{"an ingress without a host", `{maxSlotsPerPod: 1, ingress: {enabled: true}}`, "value must be 'one with host"},
		{"passing TLS through to a master without", `{maxSlotsPerPod: 1, ingress: {enabled: true, host: h, passthrough: true}}`, "values with tlsSecret: with ingress.passthrough TLS ends in the master"},
		{"an ingress and a route", `{maxSlotsPerPod: 1, ingress: {enabled: true, host: h}, openshiftRoute: {enabled: true}}`, "ingress or openshiftRoute, not with both"},
		{"two types of Service", `{maxSlotsPerPod: 1, useNodePortForMaster: true, masterService: {type: ClusterIP}}`, "both name the type of the Service"},
		{"a node port of no node", `{maxSlotsPerPod: 1, masterService: {type: ClusterIP, nodePort: 30000}}`, "masterService.nodePort needs a Service of type NodePort"},
		{"sources without a load balancer", `{maxSlotsPerPod: 1, useNodePortForMaster: true, loadBalancerSourceRanges: [10.0.0.0/8]}`, "loadBalancerSourceRanges needs a Service of type LoadBalancer"},
		{"roles", `{maxSlotsPerPod: 1, security: {authz: {type: rbac}}}`, "value must be 'basic: role-based access control is not built yet'"},
		{"an unknown scheduler", `{maxSlotsPerPod: 1, defaultScheduler: volcano}`, "at '/defaultScheduler': value must be one of"},
		{"a part that is taken away", `{maxSlotsPerPod: 1, db: null}`, "missing property 'db'"},
		{"what keeps data that is taken away", `{maxSlotsPerPod: 1, db: {keepOnUninstall: null}}`, "missing property 'keepOnUninstall'"},
		{"a port that is taken away", `{maxSlotsPerPod: 1, masterPort: null}`, "missing property 'masterPort'"},
		{"an image that is none", `{maxSlotsPerPod: 1, defaultImages: {postgreSQL: ""}}`, "at '/defaultImages/postgreSQL'"},
		{"an image with a space", `{maxSlotsPerPod: 1, image: {name: "det deploy"}}`, "at '/image/name'"},
		{"a size that is none", `{maxSlotsPerPod: 1, db: {storageSize: much}}`, "at '/db/storageSize'"},
		{"no size", `{maxSlotsPerPod: 1, db: {storageSize: ""}}`, "at '/db/storageSize'"},
		{"memory with a space", `{maxSlotsPerPod: 1, masterMemRequest: 8 Gi}`, "at '/masterMemRequest'"},
		{"a route in plain to a master with TLS", `{maxSlotsPerPod: 1, tlsSecret: t, openshiftRoute: {enabled: true, termination: edge}}`, "the route speaks plain HTTP to a master that speaks TLS"},
		{"a scheduler without its roles", `{maxSlotsPerPod: 1, defaultScheduler: coscheduler, createNonNamespacedObjects: false}`, "a scheduler of its own needs roles in the whole cluster"},
		{"no namespace for tasks", `{maxSlotsPerPod: 1, createNonNamespacedObjects: false}`, "set resourceManager.defaultNamespace to an existing one"},
		{"all pods without a role", `{maxSlotsPerPod: 1, rbac: {pods: true}, createNonNamespacedObjects: false}`, "reading the pods of all namespaces takes a ClusterRole"},
		{"a reference without its key", `{maxSlotsPerPod: 1, db: {passwordExistingSecret: {name: n}}}`, "missing property 'key'"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := render(t, release{name: "lab", namespace: "ml", values: parse(t, tt.values)})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v\nwant %s", err, tt.want)
			}
		})
	}
}

func TestNamesOfReleasesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a-name-that-is-too-long-for-any-service-of-it": "the maximum is 37: choose a shorter name",
		"with.dot": "contains a dot, which Service names must not",
	} {
		_, err := render(t, release{name: name, namespace: "ml", values: parse(t, `{maxSlotsPerPod: 1}`)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}
