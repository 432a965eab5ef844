package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	filter "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/http/ext_authz/v3"
	auth "github.com/envoyproxy/go-control-plane/envoy/service/auth/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/timestamppb"
)

type overGRPC struct {
	client  auth.AuthorizationClient
	timeout time.Duration
	raw     bool
}

func newOverGRPC(endpoint string, timeout time.Duration, settings *filter.ExtAuthz) (authority, error) {
	connection, err := grpc.NewClient("passthrough:///"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return &overGRPC{auth.NewAuthorizationClient(connection), timeout, settings.GetEncodeRawHeaders()}, nil
}

func (authority *overGRPC) ask(request *http.Request) (verdict, error) {
	limited, cancel := context.WithTimeout(request.Context(), authority.timeout)
	defer cancel()
	said, err := authority.client.Check(limited, authority.question(request))
	if err != nil {
		return verdict{}, err
	}
	if codes.Code(said.GetStatus().GetCode()) == codes.OK {
		ok := said.GetOkResponse()
		return verdict{passes: true, change: func(headers http.Header) { change(headers, ok) }}, nil
	}
	denied := said.GetDeniedResponse()
	status := int(denied.GetStatus().GetCode())
	if status == 0 {
		status = http.StatusForbidden
	}
	headers := http.Header{}
	set(headers, denied.GetHeaders())
	return verdict{status: status, headers: headers, body: denied.GetBody()}, nil
}

func (authority *overGRPC) question(request *http.Request) *auth.CheckRequest {
	about := &auth.AttributeContext_HttpRequest{
		Id:       "1",
		Method:   request.Method,
		Path:     target(request),
		Host:     request.Host,
		Scheme:   "http",
		Size:     request.ContentLength,
		Protocol: request.Proto,
	}
	lines := [][2]string{{":method", request.Method}, {":path", target(request)}, {":authority", request.Host}, {":scheme", "http"}}
	for name, values := range request.Header {
		for _, value := range values {
			lines = append(lines, [2]string{strings.ToLower(name), value})
		}
	}
	// Go keeps it apart from the headers.
	for _, coding := range request.TransferEncoding {
		lines = append(lines, [2]string{"transfer-encoding", coding})
	}
	if authority.raw {
		about.HeaderMap = &core.HeaderMap{}
		for _, line := range lines {
			about.HeaderMap.Headers = append(about.HeaderMap.Headers, &core.HeaderValue{Key: line[0], RawValue: []byte(line[1])})
		}
	} else {
		about.Headers = map[string]string{}
		for _, line := range lines {
			if before, again := about.Headers[line[0]]; again {
				line[1] = before + "," + line[1]
			}
			about.Headers[line[0]] = line[1]
		}
	}
	return &auth.CheckRequest{Attributes: &auth.AttributeContext{
		Source:      peer(request.RemoteAddr),
		Destination: peer(request.Host),
		Request:     &auth.AttributeContext_Request{Time: timestamppb.Now(), Http: about},
	}}
}

func peer(text string) *auth.AttributeContext_Peer {
	host, port, _ := net.SplitHostPort(text)
	number, _ := strconv.Atoi(port)
	socket := &core.SocketAddress{Address: host, PortSpecifier: &core.SocketAddress_PortValue{PortValue: uint32(number)}}
	return &auth.AttributeContext_Peer{Address: &core.Address{Address: &core.Address_SocketAddress{SocketAddress: socket}}}
}

// change sets, adds and then removes, in this order.
func change(headers http.Header, ok *auth.OkHttpResponse) {
	set(headers, ok.GetHeaders())
	for _, name := range ok.GetHeadersToRemove() {
		headers.Del(name)
	}
}

func set(headers http.Header, options []*core.HeaderValueOption) {
	for _, option := range options {
		name, value := option.GetHeader().GetKey(), option.GetHeader().GetValue()
		if raw := option.GetHeader().GetRawValue(); value == "" {
			value = string(raw)
		}
		switch option.GetAppendAction() {
		case core.HeaderValueOption_OVERWRITE_IF_EXISTS_OR_ADD:
			headers.Set(name, value)
		case core.HeaderValueOption_APPEND_IF_EXISTS_OR_ADD:
			headers.Add(name, value)
		default:
			panic(fmt.Sprintf("%v is not expected of Sluice", option.GetAppendAction()))
		}
	}
}
