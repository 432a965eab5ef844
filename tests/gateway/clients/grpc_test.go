package clients

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	pb "google.golang.org/grpc/interop/grpc_testing"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// grpcLargest is the largest message of these tests, with room for what is around it.
const grpcLargest = 9 * mib

// Every kind of call, between Go's own client and server.
func TestGrpc(t *testing.T) {
	service := &service{began: make(chan struct{}, 1), ended: make(chan error, 1), seen: make(chan metadata.MD, 1)}
	gateway := startGateway(t, routesTo("http://"+serveGrpc(t, service), ", protocol: http2"))
	client := grpcClient(t, gateway)
	known := metadata.AppendToOutgoingContext(t.Context(), "authorization", bearer, "oauth-user-id", "mallory")
	payload := func(size int) *pb.Payload {
		return &pb.Payload{Body: make([]byte, size)}
	}

	t.Run("a unary call is answered, and its server is told who calls", func(t *testing.T) {
		var header, trailer metadata.MD
		answer, err := client.UnaryCall(known, &pb.SimpleRequest{Payload: payload(10), ResponseSize: 20}, grpc.Header(&header), grpc.Trailer(&trailer))
		must(t, err)
		if len(answer.Payload.Body) != 20 || header.Get("x-begins")[0] != "a header" || trailer.Get("x-ends")[0] != "a trailer" {
			t.Fatalf("%v, %v, %v", answer, header, trailer)
		}
		if users := (<-service.seen).Get("oauth-user-id"); len(users) != 1 || users[0] != "alice" {
			t.Fatalf("the server was told of %v", users)
		}
	})

	t.Run("messages of 8 MiB go both ways", func(t *testing.T) {
		answer, err := client.UnaryCall(known, &pb.SimpleRequest{Payload: payload(8 * mib), ResponseSize: 8 * mib})
		must(t, err)
		if len(answer.Payload.Body) != 8*mib {
			t.Fatalf("%d bytes came back", len(answer.Payload.Body))
		}
		<-service.seen
	})

	t.Run("a server sends a stream", func(t *testing.T) {
		wanted := &pb.StreamingOutputCallRequest{}
		for size := range int32(100) {
			wanted.ResponseParameters = append(wanted.ResponseParameters, &pb.ResponseParameters{Size: size * 1000})
		}
		stream, err := client.StreamingOutputCall(known, wanted)
		must(t, err)
		for size := range 100 {
			part, err := stream.Recv()
			must(t, err)
			if len(part.Payload.Body) != size*1000 {
				t.Fatalf("part %d has %d bytes", size, len(part.Payload.Body))
			}
		}
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Fatalf("the end is %v", err)
		}
	})

	t.Run("a client sends a stream", func(t *testing.T) {
		stream, err := client.StreamingInputCall(known)
		must(t, err)
		for range 100 {
			must(t, stream.Send(&pb.StreamingInputCallRequest{Payload: payload(10_000)}))
		}
		answer, err := stream.CloseAndRecv()
		must(t, err)
		if answer.AggregatedPayloadSize != 1_000_000 {
			t.Fatalf("%d bytes came", answer.AggregatedPayloadSize)
		}
	})

	t.Run("both sides stream, each waiting for the other", func(t *testing.T) {
		stream, err := client.FullDuplexCall(known)
		must(t, err)
		for size := range 50 {
			must(t, stream.Send(&pb.StreamingOutputCallRequest{Payload: payload(size)}))
			answer, err := stream.Recv()
			must(t, err)
			if len(answer.Payload.Body) != size {
				t.Fatalf("%d bytes for %d", len(answer.Payload.Body), size)
			}
		}
		must(t, stream.CloseSend())
		if _, err := stream.Recv(); !errors.Is(err, io.EOF) {
			t.Fatalf("the end is %v", err)
		}
		if trailer := stream.Trailer().Get("x-ends"); len(trailer) != 1 {
			t.Fatalf("the trailers are %v", stream.Trailer())
		}
	})

	t.Run("the status of an error arrives, before and after messages", func(t *testing.T) {
		refusal := &pb.EchoStatus{Code: int32(codes.FailedPrecondition), Message: "not today: \u00e4 \u2615"}
		_, err := client.UnaryCall(known, &pb.SimpleRequest{ResponseStatus: refusal})
		isStatus(t, err, codes.FailedPrecondition, refusal.Message)
		<-service.seen
		stream, err := client.FullDuplexCall(known)
		must(t, err)
		must(t, stream.Send(&pb.StreamingOutputCallRequest{Payload: payload(5)}))
		_, err = stream.Recv()
		must(t, err)
		must(t, stream.Send(&pb.StreamingOutputCallRequest{ResponseStatus: refusal}))
		_, err = stream.Recv()
		isStatus(t, err, codes.FailedPrecondition, refusal.Message)
		_, err = client.UnimplementedCall(known, &pb.Empty{})
		if status.Code(err) != codes.Unimplemented {
			t.Fatal(err)
		}
	})

	t.Run("a deadline ends the call at both ends", func(t *testing.T) {
		soon, cancel := context.WithTimeout(known, 3*time.Second)
		defer cancel()
		_, err := client.EmptyCall(soon, &pb.Empty{})
		if status.Code(err) != codes.DeadlineExceeded {
			t.Fatal(err)
		}
		select {
		case <-service.ended:
			<-service.began
		case <-time.After(longest):
			t.Fatal("the server was not told")
		}
	})

	t.Run("a call that is cancelled ends at its server", func(t *testing.T) {
		cancelled, cancel := context.WithCancel(known)
		go func() {
			select {
			case <-service.began:
			case <-time.After(longest):
			}
			cancel()
		}()
		_, err := client.EmptyCall(cancelled, &pb.Empty{})
		if status.Code(err) != codes.Canceled {
			t.Fatal(err)
		}
		select {
		case ended := <-service.ended:
			if !errors.Is(ended, context.Canceled) {
				t.Fatal(ended)
			}
		case <-time.After(longest):
			t.Fatal("the server was not told")
		}
	})

	t.Run("without a token a call is unauthenticated, whichever it is, and told why", func(t *testing.T) {
		for why, context := range map[string]context.Context{
			"An access token is needed.":                         t.Context(),
			"The access token is malformed, expired or revoked.": metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer forged"),
		} {
			var trailer metadata.MD
			_, err := client.UnaryCall(context, &pb.SimpleRequest{}, grpc.Trailer(&trailer))
			isStatus(t, err, codes.Unauthenticated, why)
			if len(trailer.Get("www-authenticate")) == 0 {
				t.Fatalf("no challenge in %v", trailer)
			}
			stream, err := client.FullDuplexCall(context)
			must(t, err)
			_, err = stream.Recv()
			isStatus(t, err, codes.Unauthenticated, why)
		}
		if len(service.seen) > 0 {
			t.Fatal("the server was asked")
		}
	})

	t.Run("many calls share connections", func(t *testing.T) {
		failed := make(chan error, 64)
		for range cap(failed) {
			go func() {
				var err error
				for range 20 {
					var answer *pb.StreamingInputCallResponse
					var stream grpc.ClientStreamingClient[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]
					if stream, err = client.StreamingInputCall(known); err != nil {
						break
					}
					_ = stream.Send(&pb.StreamingInputCallRequest{Payload: payload(1000)})
					if answer, err = stream.CloseAndRecv(); err != nil {
						break
					}
					if answer.AggregatedPayloadSize != 1000 {
						err = errors.New("another answer")
						break
					}
				}
				failed <- err
			}()
		}
		for range cap(failed) {
			must(t, <-failed)
		}
	})
}

func grpcClient(t *testing.T, gateway *gateway) pb.TestServiceClient {
	t.Helper()
	sizes := grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(grpcLargest), grpc.MaxCallSendMsgSize(grpcLargest))
	connection, err := grpc.NewClient(gateway.address, grpc.WithTransportCredentials(insecure.NewCredentials()), sizes)
	must(t, err)
	t.Cleanup(func() { connection.Close() })
	return pb.NewTestServiceClient(connection)
}

// serveGrpc serves until the end of the test; gives the address.
func serveGrpc(t *testing.T, service pb.TestServiceServer) string {
	t.Helper()
	server := grpc.NewServer(grpc.MaxRecvMsgSize(grpcLargest), grpc.MaxSendMsgSize(grpcLargest))
	pb.RegisterTestServiceServer(server, service)
	listener := listen(t)
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}

func isStatus(t *testing.T, err error, code codes.Code, message string) {
	t.Helper()
	if found := status.Convert(err); found.Code() != code || found.Message() != message {
		t.Fatalf("%v: %q", found.Code(), found.Message())
	}
}

// service is the server of gRPC's own interoperability tests, as far as these need it.
type service struct {
	pb.UnimplementedTestServiceServer
	// began has that a call that is never answered is there, ended why it ended, seen what came with a unary one.
	began chan struct{}
	ended chan error
	seen  chan metadata.MD
}

func (s *service) EmptyCall(call context.Context, _ *pb.Empty) (*pb.Empty, error) {
	s.began <- struct{}{}
	<-call.Done()
	s.ended <- call.Err()
	return nil, call.Err()
}

func (s *service) UnaryCall(call context.Context, request *pb.SimpleRequest) (*pb.SimpleResponse, error) {
	told, _ := metadata.FromIncomingContext(call)
	s.seen <- told
	if refusal := request.ResponseStatus; refusal != nil {
		return nil, status.Error(codes.Code(refusal.Code), refusal.Message)
	}
	_ = grpc.SetHeader(call, metadata.Pairs("x-begins", "a header"))
	_ = grpc.SetTrailer(call, metadata.Pairs("x-ends", "a trailer"))
	return &pb.SimpleResponse{Payload: &pb.Payload{Body: make([]byte, request.ResponseSize)}}, nil
}

func (s *service) StreamingOutputCall(request *pb.StreamingOutputCallRequest, stream grpc.ServerStreamingServer[pb.StreamingOutputCallResponse]) error {
	for _, wanted := range request.ResponseParameters {
		part := &pb.StreamingOutputCallResponse{Payload: &pb.Payload{Body: make([]byte, wanted.Size)}}
		if err := stream.Send(part); err != nil {
			return err
		}
	}
	return nil
}

func (s *service) StreamingInputCall(stream grpc.ClientStreamingServer[pb.StreamingInputCallRequest, pb.StreamingInputCallResponse]) error {
	sum := 0
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(&pb.StreamingInputCallResponse{AggregatedPayloadSize: int32(sum)})
		}
		if err != nil {
			return err
		}
		sum += len(part.Payload.Body)
	}
}

func (s *service) FullDuplexCall(stream grpc.BidiStreamingServer[pb.StreamingOutputCallRequest, pb.StreamingOutputCallResponse]) error {
	stream.SetTrailer(metadata.Pairs("x-ends", "a trailer"))
	for {
		request, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if refusal := request.ResponseStatus; refusal != nil {
			return status.Error(codes.Code(refusal.Code), refusal.Message)
		}
		if err := stream.Send(&pb.StreamingOutputCallResponse{Payload: request.Payload}); err != nil {
			return err
		}
	}
}
