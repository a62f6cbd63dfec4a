/** What a subscription is made of, as options of a command. */
import { InvalidArgumentError, Option, type Command } from 'commander';
import { LANES, type Lane } from '../../domain/lanes';
import type { ApiOptions } from '../support/api-access';

export interface SubscriptionOptions extends ApiOptions {
  readonly target?: string;
  readonly events?: readonly string[];
  readonly secret?: readonly { readonly id: string; readonly ref: string }[];
  readonly lane?: Lane;
  readonly drain?: number;
  readonly json?: true;
}

export function withSubscriptionOptions(command: Command): Command {
  return command
    .option('--target <id>', 'where its deliveries go')
    .option('--events <types>', 'event types, separated by commas; * for all', list)
    .option(
      '--secret <id=reference>',
      'a secret that requests are verified with, e.g. main=file:acme/github; may be repeated',
      addSecret,
    )
    .addOption(
      new Option('--lane <lane>', 'whether a workflow has each delivery from the start').choices(
        LANES,
      ),
    )
    .option('--drain <rate>', 'how many that waited go out in a second', Number)
    .option('--json', 'answer as JSON');
}

/** The fields of a body that the options name. */
export function bodyOf(options: SubscriptionOptions): object {
  const { target, events, secret, lane, drain } = options;
  return {
    ...(target === undefined ? {} : { targetId: target }),
    ...(events === undefined ? {} : { eventTypes: events }),
    ...(secret === undefined ? {} : { ingress: { secrets: secret } }),
    ...(lane === undefined ? {} : { lane }),
    ...(drain === undefined ? {} : { drainPerSecond: drain }),
  };
}

function list(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

function addSecret(
  text: string,
  before: readonly { readonly id: string; readonly ref: string }[] = [],
): { id: string; ref: string }[] {
  const at = text.indexOf('=');
  if (at < 1) throw new InvalidArgumentError('It takes id=reference, e.g. main=file:acme/github.');
  return [...before, { id: text.slice(0, at), ref: text.slice(at + 1) }];
}
