import { Metadata, status } from '@grpc/grpc-js';
import gossip from '@eventstore/db-client/generated/gossip_pb.js';
import shared from '@eventstore/db-client/generated/shared_pb.js';
import streams from '@eventstore/db-client/generated/streams_pb.js';
import type { Expected, Proposed, Verdict } from './eventstoredb-log.js';

// The test server's messages, in the client's own generated classes.

/** What gossip tells of one node. */
export interface Member {
  port: number;
  alive: boolean;
  leader: boolean;
}

export function proposed(
  message: streams.AppendReq.ProposedMessage | streams.BatchAppendReq.ProposedMessage,
): Proposed {
  return {
    id: message.getId()?.getString() ?? '',
    system: new Map(message.getMetadataMap().entries()),
    metadata: message.getCustomMetadata_asU8(),
    data: message.getData_asU8(),
  };
}

export function expectedOf(options: streams.AppendReq.Options): Expected {
  if (options.hasNoStream()) return -1;
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'stream_exists' : Number(options.getRevision());
}

export function batchExpected(options: streams.BatchAppendReq.Options): Expected {
  if (options.hasNoStream()) return -1;
  if (options.hasAny()) return 'any';
  return options.hasStreamExists() ? 'stream_exists' : Number(options.getStreamPosition());
}

export function appendAnswer(verdict: Verdict): streams.AppendResp {
  const answer = new streams.AppendResp();
  if (verdict.kind === 'stored') {
    const position = new streams.AppendResp.Position();
    position.setCommitPosition(`${verdict.position}`).setPreparePosition(`${verdict.position}`);
    const success = new streams.AppendResp.Success();
    return answer.setSuccess(
      success.setCurrentRevision(`${verdict.revision}`).setPosition(position),
    );
  }
  const wrong = new streams.AppendResp.WrongExpectedVersion();
  if (verdict.current < 0) wrong.setCurrentNoStream(new shared.Empty());
  else wrong.setCurrentRevision(`${verdict.current}`);
  return answer.setWrongExpectedVersion(wrong);
}

export function unavailable() {
  return { code: status.UNAVAILABLE, details: 'Server is not ready' };
}

/** With the address of the leader, which clients are to ask instead. */
export function notLeader(port: number) {
  const metadata = new Metadata();
  metadata.set('exception', 'not-leader');
  metadata.set('leader-endpoint-host', '127.0.0.1');
  metadata.set('leader-endpoint-port', `${port}`);
  return { code: status.NOT_FOUND, details: 'Leader info available', metadata };
}

/** As the real server answers a name or password that it does not know. */
export function unauthenticated() {
  return { code: status.UNAUTHENTICATED, details: 'Bad HTTP status code: 401' };
}

/** As the real server answers a user without the right. */
export function accessDenied() {
  const metadata = new Metadata();
  metadata.set('exception', 'access-denied');
  return { code: status.PERMISSION_DENIED, details: 'Access Denied', metadata };
}

/** As the real server answers for a stream that has a tombstone. */
export function streamDeleted(stream: string) {
  const metadata = new Metadata();
  metadata.set('exception', 'stream-deleted');
  metadata.set('stream-name', stream);
  return {
    code: status.FAILED_PRECONDITION,
    details: `Event stream '${stream}' is deleted.`,
    metadata,
  };
}

export function gossipAnswer(members: readonly Member[]): gossip.ClusterInfo {
  const { LEADER, FOLLOWER } = gossip.MemberInfo.VNodeState;
  const list = members.map(({ port, alive, leader }) => {
    const id = `00000000-0000-4000-8000-${String(port).padStart(12, '0')}`;
    return new gossip.MemberInfo()
      .setInstanceId(new shared.UUID().setString(id))
      .setTimeStamp(`${Date.now() * 10_000}`)
      .setState(leader ? LEADER : FOLLOWER)
      .setIsAlive(alive)
      .setHttpEndPoint(new gossip.EndPoint().setAddress('127.0.0.1').setPort(port));
  });
  return new gossip.ClusterInfo().setMembersList(list);
}
