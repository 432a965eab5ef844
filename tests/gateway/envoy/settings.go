package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"

	bootstrap "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	cluster "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	routing "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	authz "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	_ "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/router/v3"
	manager "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	upstreams "github.com/envoyproxy/go-control-plane/envoy/extensions/upstreams/http/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/anypb"
	"sigs.k8s.io/yaml"
)

// settings are what one of the shipped files says.
type settings struct {
	file    *bootstrap.Bootstrap
	manager *manager.HttpConnectionManager
	authz   *authz.ExtAuthz
	listen  string
	routes  []route
}

// route leads requests whose path begins so to an endpoint.
type route struct {
	match    *routing.RouteMatch
	endpoint string
	// unasked is one for which ext_authz is turned off.
	unasked bool
}

// read holds a file to Envoy's schema: unknown keys and values out of bounds are errors.
func read(name string) (*settings, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	json, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return nil, err
	}
	settings := &settings{file: &bootstrap.Bootstrap{}, manager: &manager.HttpConnectionManager{}, authz: &authz.ExtAuthz{}}
	if err := protojson.Unmarshal(json, settings.file); err != nil {
		return nil, err
	}
	if err := settings.file.ValidateAll(); err != nil {
		return nil, err
	}
	listeners := settings.file.GetStaticResources().GetListeners()
	if len(listeners) != 1 || len(listeners[0].GetFilterChains()) != 1 {
		return nil, errors.New("one listener with one chain is expected")
	}
	settings.listen = address(listeners[0].GetAddress())
	if err := settings.readManager(listeners[0].GetFilterChains()[0].GetFilters()[0].GetTypedConfig()); err != nil {
		return nil, err
	}
	for _, one := range settings.manager.GetRouteConfig().GetVirtualHosts()[0].GetRoutes() {
		route, err := settings.readRoute(one)
		if err != nil {
			return nil, err
		}
		settings.routes = append(settings.routes, route)
	}
	return settings, nil
}

func (settings *settings) readRoute(one *routing.Route) (route, error) {
	match := one.GetMatch()
	if match.GetPrefix() == "" && match.GetPathSeparatedPrefix() == "" {
		return route{}, errors.New("prefix or path_separated_prefix is expected")
	}
	override := &authz.ExtAuthzPerRoute{}
	if config := one.GetTypedPerFilterConfig()["envoy.filters.http.ext_authz"]; config != nil {
		if err := config.UnmarshalTo(override); err != nil {
			return route{}, err
		}
	}
	endpoint, err := settings.endpoint(one.GetRoute().GetCluster())
	return route{match: match, endpoint: endpoint, unasked: override.GetDisabled()}, err
}

// routeOf is the first route for a path.
func (settings *settings) routeOf(path string) *route {
	for index := range settings.routes {
		if settings.routes[index].isFor(path) {
			return &settings.routes[index]
		}
	}
	return nil
}

func (route *route) isFor(path string) bool {
	if prefix := route.match.GetPathSeparatedPrefix(); prefix != "" {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	}
	return strings.HasPrefix(path, route.match.GetPrefix())
}

func (settings *settings) readManager(config *anypb.Any) error {
	if err := config.UnmarshalTo(settings.manager); err != nil {
		return err
	}
	if err := settings.manager.ValidateAll(); err != nil {
		return err
	}
	if !settings.manager.GetUseRemoteAddress().GetValue() {
		return errors.New("use_remote_address is expected")
	}
	filters := settings.manager.GetHttpFilters()
	if len(filters) != 2 || filters[0].GetName() != "envoy.filters.http.ext_authz" || filters[1].GetName() != "envoy.filters.http.router" {
		return errors.New("ext_authz and then the router are expected")
	}
	if err := filters[0].GetTypedConfig().UnmarshalTo(settings.authz); err != nil {
		return err
	}
	if settings.authz.GetFailureModeAllow() {
		return errors.New("failure_mode_allow would let everybody pass")
	}
	return settings.authz.ValidateAll()
}

func (settings *settings) dropsUnderscores() bool {
	action := settings.manager.GetCommonHttpProtocolOptions().GetHeadersWithUnderscoresAction()
	return action == core.HttpProtocolOptions_DROP_HEADER
}

func (settings *settings) upgradesTo(protocol string) bool {
	for _, one := range settings.manager.GetUpgradeConfigs() {
		isOn := one.GetEnabled() == nil || one.GetEnabled().GetValue()
		if isOn && strings.EqualFold(one.GetUpgradeType(), protocol) {
			return true
		}
	}
	return false
}

// statusOnError is 403 unless the file says otherwise.
func (settings *settings) statusOnError() int {
	if code := settings.authz.GetStatusOnError().GetCode(); code != 0 {
		return int(code)
	}
	return http.StatusForbidden
}

func (settings *settings) authority() (authority, error) {
	if service := settings.authz.GetGrpcService(); service != nil {
		name := service.GetEnvoyGrpc().GetClusterName()
		endpoint, err := settings.endpoint(name)
		if err != nil {
			return nil, err
		}
		if !settings.speaksHTTP2(name) {
			return nil, errors.New("gRPC needs a cluster that speaks HTTP/2")
		}
		return newOverGRPC(endpoint, service.GetTimeout().AsDuration(), settings.authz)
	}
	server := settings.authz.GetHttpService().GetServerUri()
	endpoint, err := settings.endpoint(server.GetCluster())
	return newOverHTTP(endpoint, settings.authz), err
}

func (settings *settings) cluster(name string) *cluster.Cluster {
	for _, one := range settings.file.GetStaticResources().GetClusters() {
		if one.GetName() == name {
			return one
		}
	}
	return nil
}

func (settings *settings) endpoint(name string) (string, error) {
	found := settings.cluster(name)
	if found == nil {
		return "", fmt.Errorf("there is no cluster %q", name)
	}
	return address(found.GetLoadAssignment().GetEndpoints()[0].GetLbEndpoints()[0].GetEndpoint().GetAddress()), nil
}

func (settings *settings) speaksHTTP2(name string) bool {
	options := &upstreams.HttpProtocolOptions{}
	config := settings.cluster(name).GetTypedExtensionProtocolOptions()["envoy.extensions.upstreams.http.v3.HttpProtocolOptions"]
	return config != nil && config.UnmarshalTo(options) == nil && options.GetExplicitHttpConfig().GetHttp2ProtocolOptions() != nil
}

func address(address *core.Address) string {
	socket := address.GetSocketAddress()
	return net.JoinHostPort(socket.GetAddress(), strconv.Itoa(int(socket.GetPortValue())))
}
