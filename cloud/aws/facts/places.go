package facts

import "slices"

// PlaceOf returns the place of a region, such as "Oregon", or "" for an unknown region. No call returns
// places without further permissions.
// https://docs.aws.amazon.com/global-infrastructure/latest/regions/aws-regions.html
func PlaceOf(region string) string { return places()[region] }

// Known returns the regions of AWS whose place is known, sorted, each with the place after a tab.
func Known() []string {
	var out []string
	for region, place := range places() {
		out = append(out, region+"\t"+place)
	}
	slices.Sort(out)
	return out
}

func places() map[string]string {
	return map[string]string{
		"af-south-1":     "Cape Town",
		"ap-east-1":      "Hong Kong",
		"ap-east-2":      "Taipei",
		"ap-northeast-1": "Tokyo",
		"ap-northeast-2": "Seoul",
		"ap-northeast-3": "Osaka",
		"ap-south-1":     "Mumbai",
		"ap-south-2":     "Hyderabad",
		"ap-southeast-1": "Singapore",
		"ap-southeast-2": "Sydney",
		"ap-southeast-3": "Jakarta",
		"ap-southeast-4": "Melbourne",
		"ap-southeast-5": "Malaysia",
		"ap-southeast-6": "New Zealand",
		"ap-southeast-7": "Thailand",
		"ca-central-1":   "Montreal",
		"ca-west-1":      "Calgary",
		"cn-north-1":     "Beijing",
		"cn-northwest-1": "Ningxia",
		"eu-central-1":   "Frankfurt",
		"eu-central-2":   "Zurich",
		"eu-north-1":     "Stockholm",
		"eu-south-1":     "Milan",
		"eu-south-2":     "Spain",
		"eu-west-1":      "Ireland",
		"eu-west-2":      "London",
		"eu-west-3":      "Paris",
		"il-central-1":   "Tel Aviv",
		"me-central-1":   "UAE",
		"me-south-1":     "Bahrain",
		"mx-central-1":   "Mexico",
		"sa-east-1":      "São Paulo",
		"us-east-1":      "N. Virginia",
		"us-east-2":      "Ohio",
		"us-gov-east-1":  "GovCloud, US East",
		"us-gov-west-1":  "GovCloud, US West",
		"us-west-1":      "N. California",
		"us-west-2":      "Oregon",
	}
}
